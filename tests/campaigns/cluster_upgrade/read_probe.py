"""Reads through the load balancer without a pause, each of which must succeed."""

import threading
import time
from itertools import cycle
from typing import Any

from cluster_upgrade.balanced_client import BalancedClient, CallFailed

_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
CALLS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("eth_blockNumber", ()),
    ("eth_getBalance", (_ACCOUNT, "pending")),
    ("eth_getBlockByNumber", ("pending", False)),
    ("eth_getTransactionCount", (_ACCOUNT, "latest")),
    ("eth_getBlockByNumber", ("0x1", True)),
)
_PAUSE = 0.005


class ReadProbe:
    """A thread with one connection."""

    def __init__(self, port: int) -> None:
        self.reads = 0
        self.failures: list[tuple[float, str]] = []
        """Time on the monotonic clock and reason of each read that failed."""
        self.slowest = 0.0
        self._client = BalancedClient(port)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def reopened(self) -> int:
        """Number of reads that were sent again on a new connection."""
        return self._client.reopened

    def stop(self) -> None:
        """Stop reading."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        for method, params in cycle(CALLS):
            if self._stopped.wait(_PAUSE):
                break
            began = time.monotonic()
            try:
                self._client.call(method, *params)
            except CallFailed as error:
                self.failures.append((began, str(error)))
            self.reads += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
        self._client.close()
