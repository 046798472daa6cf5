"""What became of calls."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Counts:
    """Calls of all dispatchers that share it."""

    answered: Counter[str] = field(default_factory=Counter)
    """By method."""
    failed: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By method and error code; the method is empty where none was found."""
