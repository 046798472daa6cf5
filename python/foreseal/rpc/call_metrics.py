"""Number, results and duration of calls, by method."""

import logging
from bisect import bisect_left
from collections import Counter, defaultdict

from foreseal.rpc.core_protocol import RequestEntrance

log = logging.getLogger(__name__)

BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets, in seconds."""

QUICK = BOUNDS[0]
"""Longest quick call in seconds. The core itself counts these calls, which are nearly all."""

WAITING = frozenset({"eth_sendRawTransactionSync"})
"""Methods that wait at the caller's request: they are not slow."""


class CallTimings:
    """Durations of the calls of one method, successful or failed."""

    __slots__ = ("later", "quick", "seconds")

    def __init__(self) -> None:
        self.quick = 0
        """Calls of at most `QUICK` seconds."""
        self.seconds = 0.0
        """Total duration of all calls."""
        self.later = [0] * (len(BOUNDS) + 1)
        """All other calls, each in the first bucket that holds it; the last bucket has no bound."""

    @property
    def calls(self) -> int:
        """Number of all calls."""
        return self.quick + sum(self.later)

    def add(self, seconds: float, calls: int = 1) -> None:
        """Add `calls` calls, each of which took `seconds`."""
        self.seconds += seconds * calls
        self.later[bisect_left(BOUNDS, seconds)] += calls

    def cumulative(self) -> list[int]:
        """Return the number of calls up to each bound, and of all."""
        counts, total = [], self.quick
        for count in self.later:
            total += count
            counts.append(total)
        return counts


class CallMetrics:
    """Calls of all dispatchers that share it. Slow calls are logged, without their parameters."""

    def __init__(self, slow: float = 1.0) -> None:
        """Create the counters. A call that takes `slow` seconds or more is logged."""
        self._timings: defaultdict[str, CallTimings] = defaultdict(CallTimings)
        self._elsewhere: list[RequestEntrance] = []
        self._failed: Counter[tuple[str, int]] = Counter()
        self.slow_calls = 0
        """Number of logged slow calls."""
        self._slow = slow

    @property
    def timings(self) -> defaultdict[str, CallTimings]:
        """Calls by method. The empty name holds unknown methods and calls rejected before the method was checked."""
        for entrance in self._elsewhere:
            for method, calls, seconds in entrance.drain_calls():
                timing = self._timings[method]
                timing.quick += calls
                timing.seconds += seconds
        return self._timings

    @property
    def failed(self) -> Counter[tuple[str, int]]:
        """Failed calls by method and error code."""
        for entrance in self._elsewhere:
            for method, code, calls in entrance.drain_failed_calls():
                self._failed[method, code] += calls
        return self._failed

    def include_entrance(self, entrance: RequestEntrance) -> None:
        """Include the calls that `entrance` counts."""
        self._elsewhere.append(entrance)

    @property
    def answered(self) -> dict[str, int]:
        """Number of successful calls by method."""
        failed: Counter[str] = Counter()
        for (method, _), count in self.failed.items():
            failed[method] += count
        counts = {method: timing.calls - failed[method] for method, timing in self.timings.items()}
        return {method: count for method, count in counts.items() if count}

    def record(
        self, method: str, seconds: float, size: int, tier: str, key: str | None = None, *, calls: int = 1
    ) -> None:
        """Count a call by a caller of `tier` that took `seconds` and whose answer has `size` bytes.

        `key` is the id of the caller's API key, if it has one. With several `calls`, time and size belong to all of
        them together.
        """
        self._timings[method].add(seconds, calls)
        if seconds >= self._slow and method not in WAITING:
            self.slow_calls += calls
            fields = {"method": method, "seconds": round(seconds, 3), "bytes": size, "tier": tier}
            log.warning("slow call", extra=fields if key is None else fields | {"key": key})
