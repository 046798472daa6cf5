"""A thread that reads the pending block, its receipts and the status repeatedly, each time from one view."""

from typing import Any

from live.polling import STARTING, PollingThread
from live.rpc import Rpc, RpcFailure

# Seconds.
_INTERVAL, _TIMEOUT = 0.01, 5.0
_CALLS: tuple[tuple[str, *tuple[Any, ...]], ...] = (
    ("foreseal_status",),
    ("eth_getBlockByNumber", "pending", False),
    ("eth_getBlockReceipts", "pending"),
)


class PendingPoller(PollingThread):
    """Records every pending block with transactions."""

    def __init__(self, url: str) -> None:
        """The URL must be the same after a restart of the node."""
        super().__init__(Rpc(url, _TIMEOUT), _INTERVAL)
        self.shown: dict[str, tuple[str, ...]] = {}
        """Transactions by hash of the step."""
        self.numbers: dict[str, int] = {}
        """Block number by hash of the step."""
        self.faults: list[str] = []
        self.start()

    def poll(self) -> bool:
        """Record the pending block; return False, since there is a pause between two polls."""
        try:
            status, block, receipts = self.rpc.batch(*_CALLS)
        except RpcFailure as error:
            if error.code != STARTING:
                self.faults.append(f"a poll failed: {error}")
        else:
            self._record(status, block, receipts)
        return False

    def _record(self, status: dict[str, Any], block: dict[str, Any], receipts: list[dict[str, Any]]) -> None:
        transactions = tuple(block["transactions"])
        if (status["hash"], status["block"]) != (block["hash"], block["number"]):
            self.faults.append(f"the status {status} and the pending block {block['hash']} are of two views")
        if tuple(each["transactionHash"] for each in receipts) != transactions:
            self.faults.append(f"the receipts of {block['hash']} are those of other transactions")
        # Without an open payload, `pending` is an empty block, which commits to nothing.
        if transactions:
            self.shown[block["hash"]] = transactions
            self.numbers[block["hash"]] = int(block["number"], 16)
