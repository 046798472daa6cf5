"""Limits of one caller: its rate of calls, processor time, concurrent calls, connections."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from foreseal.rpc.call_costs import COSTS
from foreseal.rpc.rate import Rate
from foreseal.rpc.rejected_call import RejectedCall, cpu_exhausted, rate_exceeded

Clock = Callable[[], int]
"""us since an arbitrary moment; it never goes back and is the same for all processes of the machine."""


class BucketTable(Protocol):
    """Token buckets of all callers: `foreseal._core.Buckets`, or a test double."""

    def key(self, name: bytes) -> int:
        """Return the key of a caller's bucket."""

    def consume(self, key: int, now: int, interval: int, burst: int, cost: int) -> int:
        """Take tokens. Return 0, or the us until they are available."""


class TokenBucket:
    """Token bucket of one caller: a call costs one token, or its entry in `COSTS`."""

    __slots__ = ("_burst", "_clock", "_interval", "_key", "_rate", "_table")

    def __init__(self, table: BucketTable, name: bytes, rate: Rate, burst: int, clock: Clock) -> None:
        self._table = table
        self._key = table.key(name)
        self._rate = rate
        self._interval = rate.interval
        self._burst = burst
        self._clock = clock

    def consume(self, method: str) -> RejectedCall | None:
        """Take the cost of a call, or return the rejection. An unknown method costs one token."""
        cost = COSTS.get(method, 1)
        wait = self._table.consume(self._key, self._clock(), self._interval, self._burst, cost)
        return self.rejection(wait) if wait else None

    def rejection(self, wait: int) -> RejectedCall:
        """Return the rejection of a call for `wait` us."""
        return rate_exceeded(f"{self._rate}, burst {self._burst}", self._rate.calls, wait)


class ScheduledCaller(Protocol):
    """A caller of the core, which charges its responses to the caller: `foreseal._core.Caller`, or a test double."""

    @property
    def running(self) -> int:
        """Calls on worker threads, including cancelled ones until the core has ended them."""

    def charge(self, now: int, used: int) -> int:
        """Take `used` us of processor time. Return 0 while the budget is positive, otherwise the us until it is."""


class CpuBudget:
    """Budget of processor time of a caller: ms a second, and a burst in ms."""

    __slots__ = ("_burst", "_caller", "_clock", "_rate")

    def __init__(self, caller: ScheduledCaller, clock: Clock, rate: int, burst: int) -> None:
        self._caller = caller
        self._clock = clock
        self._rate = rate
        self._burst = burst

    def check(self) -> RejectedCall | None:
        """Return the rejection of any call while the budget is exhausted."""
        wait = self._caller.charge(self._clock(), 0)
        return self.rejection(wait) if wait else None

    def rejection(self, wait: int) -> RejectedCall:
        """Return the rejection of a call for `wait` us."""
        return cpu_exhausted(self._rate, self._burst, wait)

    def charge(self, seconds: float) -> None:
        """Charge processor time in seconds that the event loop has spent on the caller."""
        self._caller.charge(self._clock(), round(seconds * 1_000_000))


class RateLimiter:
    """Shared limits of a caller's concurrent activity in this process. Used from the event loop's thread only."""

    __slots__ = (
        "__weakref__",
        "_bucket",
        "_cpu",
        "_refusals",
        "connections",
        "key",
        "max_calls",
        "scheduled",
        "subscriptions",
    )

    def __init__(
        self,
        bucket: TokenBucket | None,
        max_calls: int | None,
        refusals: Counter[str],
        key: str | None = None,
        scheduled: ScheduledCaller | None = None,
        cpu: CpuBudget | None = None,
    ) -> None:
        """Allow `max_calls` concurrent calls on worker threads. `refusals` counts a tier's rejections by reason."""
        self.key = key
        """Id of the caller's API key, if it has one, for the log."""
        self.scheduled = scheduled
        """Caller of the core; calls with None share one place in the fair queue."""
        self.max_calls = max_calls
        """Most concurrent calls on worker threads; None: as many as for all callers."""
        self.subscriptions = 0
        """Subscriptions of its WebSockets."""
        self._cpu = cpu
        self.connections = 0
        """Open WebSockets."""
        self._bucket = bucket
        self._refusals = refusals

    def charge_call(self, method: str) -> RejectedCall | None:
        """Charge the cost of a call, or return its rejection."""
        exhausted = self._exhausted()
        if exhausted is not None or self._bucket is None:
            return exhausted
        return self._counted(self._bucket.consume(method), "rate")

    def refuse(self, reason: str, wait: int) -> RejectedCall:
        """Count and return the rejection of a call for `wait` us; `reason` is the exhausted budget, rate or cpu."""
        budget = self._cpu if reason == "cpu" else self._bucket
        assert budget is not None, "only a budget is exhausted"
        self._refusals[reason] += 1
        return budget.rejection(wait)

    def charge_cpu(self, seconds: float) -> None:
        """Charge processor time that the event loop has spent on the caller."""
        if self._cpu is not None:
            self._cpu.charge(seconds)

    def _exhausted(self) -> RejectedCall | None:
        return None if self._cpu is None else self._counted(self._cpu.check(), "cpu")

    @property
    def running(self) -> int:
        """Calls on worker threads, including cancelled ones until the core has ended them."""
        return 0 if self.scheduled is None else self.scheduled.running

    @property
    def is_full(self) -> bool:
        """True if no further call may be submitted to worker threads now."""
        return self.max_calls is not None and self.running >= self.max_calls

    def count_refusal(self, reason: str) -> None:
        """Count a call that was rejected for a limit of the caller."""
        self._refusals[reason] += 1

    def _counted(self, refusal: RejectedCall | None, reason: str) -> RejectedCall | None:
        if refusal is not None:
            self._refusals[reason] += 1
        return refusal
