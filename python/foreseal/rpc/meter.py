"""What one caller uses up: calls of its rate, calls at once, connections."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from foreseal.rpc.costs import COSTS
from foreseal.rpc.rate import Rate
from foreseal.rpc.refused import Refused, busy, too_fast

Clock = Callable[[], int]
"""us since any moment; it never goes back and is the same for all processes of the machine."""


class Buckets(Protocol):
    """Token buckets of all callers: `foreseal._core.Buckets`, or a double of it in tests."""

    def place(self, name: bytes) -> int:
        """Where the bucket of a caller is."""

    def take(self, place: int, now: int, interval: int, burst: int, cost: int) -> int:
        """Take tokens: 0, or the us until they are there."""

    def wait(self, place: int, now: int, interval: int, burst: int, cost: int) -> int:
        """As `take`, but nothing is taken."""


class Bucket:
    """The tokens of one caller: one for a call, but `COSTS`."""

    __slots__ = ("_burst", "_clock", "_interval", "_place", "_rate", "_table")

    def __init__(self, table: Buckets, name: bytes, rate: Rate, burst: int, clock: Clock) -> None:
        self._table = table
        self._place = table.place(name)
        self._rate = rate
        self._interval = rate.interval
        self._burst = burst
        self._clock = clock

    def take(self, method: str) -> Refused | None:
        """Take what a call costs, or say when it will be there. A method that there is not costs what most cost."""
        cost = COSTS.get(method, 1)
        return self._answer(self._table.take(self._place, self._clock(), self._interval, self._burst, cost))

    def nothing_left(self) -> Refused | None:
        """The refusal of whatever call, if not one token is there."""
        return self._answer(self._table.wait(self._place, self._clock(), self._interval, self._burst, 1))

    def _answer(self, wait: int) -> Refused | None:
        return too_fast(f"{self._rate}, {self._burst} at once", self._rate.calls, wait) if wait else None


class Meter:
    """One object for all that a caller does at a time in this process. Used from the event loop's thread only."""

    __slots__ = ("__weakref__", "_bucket", "_most", "_refusals", "connections", "key", "running")

    def __init__(self, bucket: Bucket | None, most: int | None, refusals: Counter[str], key: str | None = None) -> None:
        """At most `most` calls at once on core threads. `refusals` counts those of all callers of a tier by reason."""
        self.key = key
        """Id of the caller's API key, if it has one, for the log."""
        self.running = 0
        """Calls on core threads."""
        self.connections = 0
        """WebSockets."""
        self._bucket = bucket
        self._most = most
        self._refusals = refusals

    def charge(self, method: str) -> Refused | None:
        """Take what a call costs, or say why it may not be made."""
        return None if self._bucket is None else self._counted(self._bucket.take(method))

    def nothing_left(self) -> Refused | None:
        """The refusal of whatever call, if not one may be made now."""
        return None if self._bucket is None else self._counted(self._bucket.nothing_left())

    @property
    def is_full(self) -> bool:
        """Whether no further call may go to a core thread now."""
        return self._most is not None and self.running >= self._most

    def full(self) -> Refused | None:
        """Why no further call may go to a core thread."""
        if self._most is None or not self.is_full:
            return None
        self._refusals["caller_calls"] += 1
        return busy("caller_calls", self._most, "too many calls of yours at once: try again")

    def began(self, call: "asyncio.Future[Any]") -> None:
        """A call went to a core thread."""
        self.running += 1
        call.add_done_callback(self._ended)

    def _ended(self, _: "asyncio.Future[Any]") -> None:
        self.running -= 1

    def _counted(self, refusal: Refused | None) -> Refused | None:
        if refusal is not None:
            self._refusals["rate"] += 1
        return refusal
