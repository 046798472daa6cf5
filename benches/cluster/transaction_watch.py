"""Arrival times of transactions at a subscriber of `newFlashblockTransactions`."""

import re
import time
from dataclasses import dataclass, field

from benches.load.websocket import Subscriber

_HASH = re.compile(rb'"result":"(0x[0-9a-f]{64})"')


@dataclass
class TransactionWatch:
    """Transactions of steps as one process showed them; times are those of `time.perf_counter`."""

    port: int
    shown: dict[str, float] = field(default_factory=dict)
    """Arrival time by hash, in the order of arrival."""
    repeated: int = 0
    """Transactions that arrived twice."""
    _subscriber: Subscriber | None = None

    async def open(self) -> "TransactionWatch":
        """Connect and subscribe. Raises RuntimeError."""
        self._subscriber = await Subscriber(self.port, ("newFlashblockTransactions",), self._notified).open()
        return self

    def close(self) -> None:
        """Disconnect."""
        if self._subscriber is not None:
            self._subscriber.close()

    def _notified(self, text: bytes) -> None:
        now = time.perf_counter()
        match = _HASH.search(text)
        if match is None:
            return
        name = match[1].decode()
        if self.shown.setdefault(name, now) != now:
            self.repeated += 1
