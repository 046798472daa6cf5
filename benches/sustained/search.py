"""The highest rate of transfers that a node sustains, found by short trials and confirmed by long ones."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# A trial fails if a request is answered this late, or if the pool or then the store needs this long after it.
MAX_LATE_MS, MAX_DRAIN, MAX_STORE_DELAY = 500.0, 1.0, 5.0
FIRST_RATE, GROWTH, BISECTIONS = 1_000.0, 1.6, 3
# The speed of a shared machine varies from one minute to the next, so a rate that passed once may not last.
REDUCTION = 0.92
_HIGHEST_RATE = 60_000.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One load at a rate."""

    rate: float
    seconds: float
    late_ms: float
    """p99 of the time by which the generator was late."""
    answered_ms: float
    """p99 of the time from which a request was due until its response."""
    rejected: int
    drain: float
    """Seconds from the last response until the pool was empty."""
    store_delay: float
    """Seconds from then until all sealed blocks were stored; a store that falls behind needs many."""

    @property
    def passed(self) -> bool:
        """Return True if the node and the generator kept up."""
        in_time = max(self.late_ms, self.answered_ms) <= MAX_LATE_MS
        return in_time and not self.rejected and self.drain <= MAX_DRAIN and self.store_delay <= MAX_STORE_DELAY

    def figures(self) -> dict[str, Any]:
        """Return them for a result."""
        return {
            "rate": round(self.rate),
            "seconds": self.seconds,
            "late_p99_ms": self.late_ms,
            "answered_p99_ms": self.answered_ms,
            "rejected": self.rejected,
            "drain_seconds": round(self.drain, 2),
            "store_delay_seconds": round(self.store_delay, 2),
            "passed": self.passed,
        }


def find_highest(attempt: Callable[[float], Trial], first: float = FIRST_RATE) -> tuple[float, list[Trial]]:
    """Return the highest rate that passed, and all trials. Raises RuntimeError if the first one fails."""
    trials = [attempt(first)]
    if not trials[0].passed:
        raise RuntimeError(f"the node does not keep up with {first:g} transfers a second: {trials[0]}")
    good, bad = first, None
    while bad is None and good * GROWTH < _HIGHEST_RATE:
        trials.append(attempt(good * GROWTH))
        if trials[-1].passed:
            good = trials[-1].rate
        else:
            bad = trials[-1].rate
    for _ in range(BISECTIONS if bad is not None else 0):
        assert bad is not None, "a rate failed"
        trials.append(attempt((good + bad) / 2))
        if trials[-1].passed:
            good = trials[-1].rate
        else:
            bad = trials[-1].rate
    return good, trials


def confirm(attempt: Callable[[float], Trial], rate: float) -> tuple[float, list[Trial]]:
    """Reduce a rate until an attempt passes. Return that rate, and all trials. Raises RuntimeError below half of it."""
    trials = [attempt(rate)]
    while not trials[-1].passed:
        if trials[-1].rate < rate / 2:
            raise RuntimeError(f"the node does not keep up with half of {rate:g} transfers a second: {trials[-1]}")
        trials.append(attempt(trials[-1].rate * REDUCTION))
    return trials[-1].rate, trials


def wait_until(condition: Callable[[], bool], seconds: float) -> float:
    """Poll until a condition holds or the time is up. Return the seconds that it took."""
    began = time.perf_counter()
    while not condition() and time.perf_counter() - began < seconds:
        time.sleep(0.01)
    return time.perf_counter() - began
