"""Intervals between the steps of a chain, as an honest follower of the feed sees them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hostile.listener import FEED, HEADS, LAGGED

_TOGETHER = 0.1
"""Seconds within which messages belong to one tick: half the default interval of steps."""


@dataclass
class Cadence:
    """Intervals between ticks, in ms. The messages of a tick, a heartbeat and a step, arrive together."""

    flashblocks: int
    """Number of steps."""
    p50: float
    max: float
    """Longest interval between two arrivals, or between the times of production of two steps without a heartbeat."""
    blocks: int
    p99: float = 0.0
    lagged: int = 0
    """Notifications that the follower missed steps."""
    largest: int = 0
    """Bytes of the largest step."""


def cadence_of(events: Sequence[dict[str, Any]], begin: float, end: float) -> Cadence:
    """Return the cadence within a time window. The interval in which it begins belongs to it as well."""
    feed = [event for event in events if event["event"] == FEED]
    inside = [event for event in feed if begin <= event["at"] < end]
    first = [event for event in feed if event["at"] < begin][-1:]
    arrivals = [event["at"] for event in (*first, *inside)] + [end]
    gaps = [(later - earlier) * 1000 for earlier, later in itertools.pairwise(arrivals)]
    # A later part of a step has bytes and no time.
    whole = [event for event in (*first, *inside) if "time" in event or "bytes" not in event]
    for earlier, later in itertools.pairwise(whole):
        # A heartbeat between two steps has no time: that tick had nothing to add.
        if earlier.get("time") is not None and later.get("time") is not None:
            gaps.append(float(later["time"] - earlier["time"]))
    steps = [event for event in inside if "time" in event]
    within = [event for event in events if begin <= event["at"] < end]
    ordered = sorted((later - earlier) * 1000 for earlier, later in itertools.pairwise(_ticks(arrivals))) or [0.0]
    p50, p99 = (round(ordered[min(int(len(ordered) * part), len(ordered) - 1)], 1) for part in (0.5, 0.99))
    return Cadence(
        flashblocks=len(steps),
        p50=p50,
        max=round(max(gaps, default=0.0), 1),
        blocks=sum(1 for event in within if event["event"] == HEADS),
        p99=p99,
        lagged=sum(1 for event in within if event["event"] == LAGGED),
        largest=max((event["bytes"] for event in steps), default=0),
    )


def _ticks(arrivals: Sequence[float]) -> list[float]:
    """Return the arrival of the first message of each tick."""
    ticks: list[float] = []
    for at in arrivals:
        if not ticks or at - ticks[-1] >= _TOGETHER:
            ticks.append(at)
    return ticks
