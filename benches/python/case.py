"""A comparison: the same work by foreseal and by the PyPI package that people use for it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One comparison. Both sides give the same answer. `items` is how many values one call works on."""

    name: str
    peer: str
    """PyPI package compared with."""
    ours: Callable[[], object]
    theirs: Callable[[], object]
    items: int = 1
    target: float | None = None
    """Ratio to reach; None where none was set."""

    def compare(self) -> None:
        """Raises ValueError if the two sides answer differently."""
        if self.ours() != self.theirs():
            raise ValueError(f"{self.name}: foreseal and {self.peer} answer differently")
