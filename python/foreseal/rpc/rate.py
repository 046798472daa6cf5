"""Rates of calls."""

import math
import re
from dataclasses import dataclass
from typing import Any

_UNITS = {"s": 1, "m": 60, "h": 3600}
_FORM = re.compile(r"([0-9]{1,7})(?:/([smh]))?")
MAX_CALLS = 1_000_000
"""Largest number of calls of a rate, and of a burst."""
MAX_CPU_RATE = 1_000_000
"""Largest rate of processor time, ms a second: that of the crate `rate-limit`."""
MAX_CPU_BURST = 3_600_000
"""Largest burst of processor time, ms."""
MAX_SPAN = 1 << 46
"""Longest time in us to fill an empty bucket, as in the crate `rate-limit`."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Number of calls in a number of seconds; 0 calls mean no limit."""

    calls: int
    seconds: int = 1

    def __str__(self) -> str:
        """Format it for `parse_rate`."""
        unit = next(unit for unit, seconds in _UNITS.items() if seconds == self.seconds)
        return f"{self.calls}/{unit}" if self.calls else "0"

    @property
    def interval(self) -> int:
        """us from one call to the next, rounded up."""
        return math.ceil(self.seconds * 1_000_000 / self.calls)

    @property
    def burst(self) -> int:
        """Default burst: the calls of two seconds."""
        return max(1, 2 * self.calls // self.seconds)


UNLIMITED = Rate(0)
"""No limit."""


def resolve_burst(rate: Rate, burst: int | None) -> int:
    """Return the burst: `burst` or the calls of two seconds. Raises ValueError if the bucket fills too slowly."""
    size = burst or rate.burst
    if rate.calls and rate.interval * size > MAX_SPAN:
        raise ValueError(f"{size} calls are too large a burst at {rate}: it would take more than two years to refill")
    return size


def parse_rate(value: Any) -> Rate:
    """Parse a rate such as 100/s, 600/m, 5000/h, or 100 for 100/s. Raises ValueError."""
    match = _FORM.fullmatch(str(value).strip())
    if match is None or int(match[1]) > MAX_CALLS:
        raise ValueError(f"{value!r} is not a rate: write calls per unit of time, such as 100/s, 600/m or 5000/h")
    return Rate(int(match[1]), _UNITS[match[2] or "s"]) if int(match[1]) else UNLIMITED
