"""Waits for the pending block of a node under a driver."""

from typing import Any

from live import wait_for
from live.rpc import Rpc

SECONDS = 30.0


def wait_for_receipt(rpc: Rpc, sent: str) -> dict[str, Any]:
    """Wait until a transaction is in the pending or a sealed block, and return its receipt."""
    receipt: dict[str, Any] = wait_for(lambda: rpc("eth_getTransactionReceipt", sent), SECONDS, f"receipt of {sent}")
    return receipt


def wait_for_pending_count(rpc: Rpc, count: int) -> None:
    """Wait until the pending block has this number of transactions."""

    def has_count() -> bool:
        return len(rpc("eth_getBlockByNumber", "pending", False)["transactions"]) == count

    wait_for(has_count, SECONDS, f"pending block of {count} transactions")
