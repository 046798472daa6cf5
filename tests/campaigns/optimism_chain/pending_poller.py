"""A thread that reads the pending block, its receipts and the status again and again, each time from one view."""

import http.client
import threading
from typing import Any

from live.rpc import Rpc, RpcFailure

_INTERVAL, _TIMEOUT = 0.01, 5.0
_CALLS: tuple[tuple[str, *tuple[Any, ...]], ...] = (
    ("foreseal_status",),
    ("eth_getBlockByNumber", "pending", False),
    ("eth_getBlockReceipts", "pending"),
)


class PendingPoller:
    """Records every pending block with transactions."""

    def __init__(self, url: str) -> None:
        """The URL must be the same after a restart of the node."""
        self.seen: dict[str, tuple[str, ...]] = {}
        """Transactions by hash of the step."""
        self.numbers: dict[str, int] = {}
        """Block number by hash of the step."""
        self.faults: list[str] = []
        self._rpc = Rpc(url, _TIMEOUT)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()
        self._thread.join(2 * _TIMEOUT)

    def _run(self) -> None:
        while not self._stopped.wait(_INTERVAL):
            try:
                status, block, receipts = self._rpc.batch(*_CALLS)
            except (OSError, http.client.HTTPException, ValueError, RpcFailure):
                # Killed or not yet started.
                continue
            self._record(status, block, receipts)
        self._rpc.close()

    def _record(self, status: dict[str, Any], block: dict[str, Any], receipts: list[dict[str, Any]]) -> None:
        transactions = tuple(block["transactions"])
        if (status["hash"], status["block"]) != (block["hash"], block["number"]):
            self.faults.append(f"the status {status} and the pending block {block['hash']} are of two views")
        if tuple(each["transactionHash"] for each in receipts) != transactions:
            self.faults.append(f"the receipts of {block['hash']} are those of other transactions")
        # Without an open payload, `pending` is an empty block, which commits to nothing.
        if transactions:
            self.seen[block["hash"]] = transactions
            self.numbers[block["hash"]] = int(block["number"], 16)
