"""Choice of the requests that a process traces: the caller's flag or a share of them, and a limit per second."""

from collections.abc import Callable
from random import random
from time import monotonic

from foreseal.telemetry.configuration import TraceSampling
from foreseal.telemetry.traceparent import TraceParent

MAX_SPANS_PER_SECOND = 200
"""Requests traced per second."""
MAX_FLAGGED_PER_SECOND = 100
"""Requests traced per second because of their caller's flag, which anybody may set on every request."""


class RequestSampler:
    """Sampler of the requests of one process. Used from the event loop's thread only."""

    def __init__(
        self,
        sampling: TraceSampling,
        clock: Callable[[], float] = monotonic,
        draw: Callable[[], float] = random,
    ) -> None:
        """`draw` returns random numbers from 0 to 1, and `clock` is monotonic, in seconds."""
        self._sampling = sampling
        self._clock = clock
        self._draw = draw
        self._second, self._traced, self._flagged = 0, 0, 0
        self.dropped = 0
        """Requests not traced because of the limit per second."""

    def is_sampled(self, parent: TraceParent | None) -> bool:
        """Return True if a request with this parent is traced; it then counts against the limit."""
        is_flagged = self._sampling.is_parent_based and parent is not None
        if is_flagged and parent is not None:
            is_chosen = parent.is_sampled
        else:
            is_chosen = self._draw() < self._sampling.ratio
        return is_chosen and self._has_room(is_flagged=is_flagged)

    def _has_room(self, *, is_flagged: bool) -> bool:
        second = int(self._clock())
        if second != self._second:
            self._second, self._traced, self._flagged = second, 0, 0
        if self._traced >= MAX_SPANS_PER_SECOND or (is_flagged and self._flagged >= MAX_FLAGGED_PER_SECOND):
            self.dropped += 1
            return False
        self._traced += 1
        self._flagged += is_flagged
        return True
