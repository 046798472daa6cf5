"""Rates of requests by address or by order, in memory of a fixed size."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from foreseal._core import Buckets

# Slots of the buckets of all names.
_SLOTS = 1 << 16
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class RequestRate:
    """A rate of requests with a burst."""

    name: str
    interval: float
    """Seconds from one request to the next."""
    burst: int


class RequestRates:
    """Counters of requests. Safe from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Count from now on. `clock` is monotonic, in seconds."""
        self._buckets = Buckets(None, _SLOTS)
        self._clock = clock

    def charge(self, rate: RequestRate, name: str) -> int:
        """Count a request of an address or for an order; return 0, or the seconds until one is allowed again."""
        key = self._buckets.key(f"{rate.name} {name}".encode("utf-8", "replace"))
        now, interval = (round(seconds * _MICROSECONDS) for seconds in (self._clock(), rate.interval))
        wait = self._buckets.consume(key, now, interval, rate.burst, 1)
        return math.ceil(wait / _MICROSECONDS)
