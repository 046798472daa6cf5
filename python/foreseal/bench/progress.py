"""Progress of a benchmark: the current run, the elapsed time, and an estimate of the remaining time."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

GENERATOR, READS, OPEN_LOOP, RESTARTED, SENDS = (
    "load generator",
    "reads",
    "open loop",
    "reads after restart",
    "sends",
)
"""Names of the phases that measure all nodes together."""


def filling(node: str) -> str:
    """Return the name of the phase that writes the content to a node."""
    return f"filling {node}"


def visible_on(node: str) -> str:
    """Return the name of the phase that measures the visibility of transactions on a node."""
    return f"visibility on {node}"


def fanout_of(node: str) -> str:
    """Return the name of the phase that measures notifications of a node."""
    return f"notifications of {node}"


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """State of a phase, of which `done` of `total` runs are complete."""

    phase: str
    activity: str
    """The run that begins now: row, connections and node. Empty at the end of the phase."""
    done: int
    total: int
    repetition: str = ""
    """Part of the phase, such as `repetition 2 of 5`; empty if it has no parts."""

    @property
    def label(self) -> str:
        """Name of the phase and of its current repetition."""
        return f"{self.phase}, {self.repetition}" if self.repetition else self.phase


ProgressCallback = Callable[[ProgressUpdate], None]


class TimeEstimate:
    """Elapsed and remaining seconds of a benchmark.

    The remaining time of the current phase follows from its pace. Later phases count with their expected durations.
    """

    def __init__(self, expected: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        """`expected` has the duration of each phase in seconds."""
        self._expected = dict(expected)
        self._clock = clock
        self._start = self._phase_start = clock()
        self._phase = ""
        self._whole = self._remaining_in_phase = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    @property
    def remaining(self) -> float:
        """Estimated seconds until the end."""
        return self._remaining_in_phase + sum(self._expected.values())

    def update(self, update: ProgressUpdate) -> None:
        """Add the state of a phase."""
        now = self._clock()
        if update.phase != self._phase:
            self._phase, self._phase_start = update.phase, now
            self._whole = self._expected.pop(update.phase, 0.0)
        left = 1 - update.done / update.total if update.total else 0.0
        if update.done and now > self._phase_start:
            self._whole = (now - self._phase_start) * update.total / update.done
        self._remaining_in_phase = self._whole * left


def repetition_names(count: int) -> Iterator[str]:
    """Yield the name of each repetition."""
    return (f"repetition {number} of {count}" for number in range(1, count + 1))


def format_seconds(seconds: float) -> str:
    """Return a duration in words: 7s, 2m 05s, 1h 03m."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"
