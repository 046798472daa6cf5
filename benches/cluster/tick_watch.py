"""Times of the ticks of a sequencer, as a subscriber of `foreseal_feed` gets a step or a heartbeat for each."""

import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from benches.load.lanes import quantiles
from benches.load.websocket import Subscriber

# A tick that seals a block sends two messages.
_SAME_TICK = 0.02


@dataclass
class TickWatch:
    """Times are those of `time.perf_counter`."""

    port: int
    messages: list[float] = field(default_factory=list)
    _subscriber: Subscriber | None = None

    async def open(self) -> "TickWatch":
        """Connect and subscribe. Raises RuntimeError."""
        self._subscriber = await Subscriber(self.port, ("foreseal_feed",), self._notified).open()
        return self

    def close(self) -> None:
        """Disconnect."""
        if self._subscriber is not None:
            self._subscriber.close()

    def _notified(self, _text: bytes) -> None:
        self.messages.append(time.perf_counter())


def tick_times(messages: list[float]) -> list[float]:
    """Return the time of the first message of each tick."""
    ticks: list[float] = []
    for at in messages:
        if not ticks or at - ticks[-1] > _SAME_TICK:
            ticks.append(at)
    return ticks


def tick_figures(ticks: list[float], begin: float, end: float) -> dict[str, Any]:
    """Return number and intervals of the ticks between two times; an interval belongs to the tick that ends it."""
    intervals = [after - before for before, after in pairwise(ticks) if begin <= after < end]
    return {"ticks": len(intervals), "interval": quantiles(intervals) if intervals else None}
