"""A comparison: the same work by foreseal and by the corresponding PyPI package."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One comparison. Both sides return the same result. `items` is the number of values per call."""

    name: str
    peer: str
    """PyPI package of the comparison."""
    ours: Callable[[], object]
    theirs: Callable[[], object]
    items: int = 1
    target: float | None = None
    """Target ratio; None if there is none."""

    def compare(self) -> None:
        """Raise ValueError if the results of the two sides differ."""
        if self.ours() != self.theirs():
            raise ValueError(f"{self.name}: foreseal and {self.peer} answer differently")
