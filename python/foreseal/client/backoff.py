"""Delays between attempts."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with jitter, so that many clients do not reconnect at the same moment."""

    first: float = 0.05
    """Maximum delay before the first retry, in seconds."""
    maximum: float = 5.0
    """Maximum delay before any retry, in seconds."""

    def wait(self, failures: int, random: Callable[[], float]) -> float:
        """Return the seconds to wait after this many consecutive failures, at least 1 of them.

        The delay doubles with each failure; the result is random between half of it and all of it.
        """
        longest = min(self.first * 2.0 ** min(failures - 1, 30), self.maximum)
        return longest * (0.5 + random() / 2)
