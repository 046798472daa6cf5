"""Times of the ticks and steps of a sequencer: `foreseal_feed` sends each step, and a heartbeat after each tick."""

import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from benches.load.lanes import quantiles
from benches.load.websocket import Subscriber

# The start of a message, before the data of a step.
_HEAD_BYTES = 200


@dataclass
class TickWatch:
    """A tick is the first message after a heartbeat, which ends each tick. Times are those of `time.perf_counter`."""

    port: int
    ticks: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    _has_ended: bool = True
    _subscriber: Subscriber | None = None

    async def open(self) -> "TickWatch":
        """Connect and subscribe. Raises RuntimeError."""
        self._subscriber = await Subscriber(self.port, ("foreseal_feed",), self._notified).open()
        return self

    def close(self) -> None:
        """Disconnect."""
        if self._subscriber is not None:
            self._subscriber.close()

    def _notified(self, text: bytes) -> None:
        now = time.perf_counter()
        if self._has_ended:
            self.ticks.append(now)
        self._has_ended = b'"heartbeat"' in text[:_HEAD_BYTES]
        if not self._has_ended:
            self.steps.append(now)


def tick_figures(ticks: list[float], begin: float, end: float) -> dict[str, Any]:
    """Return number and intervals of the ticks between two times; an interval belongs to the tick that ends it."""
    intervals = [after - before for before, after in pairwise(ticks) if begin <= after < end]
    return {"ticks": len(intervals), "interval": quantiles(intervals) if intervals else None}
