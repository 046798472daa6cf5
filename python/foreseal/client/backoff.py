"""How long to wait before something is tried again."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubling waits, each a random part of them, so that many clients do not come back at the same moment."""

    first: float = 0.05
    """Seconds, at most, before the first repetition."""
    most: float = 5.0
    """Seconds, at most, before any."""

    def wait(self, failures: int, random: Callable[[], float]) -> float:
        """Seconds to wait after so many failures in a row, at least 1; between half of the doubled time and all."""
        longest = min(self.first * 2.0 ** min(failures - 1, 30), self.most)
        return longest * (0.5 + random() / 2)
