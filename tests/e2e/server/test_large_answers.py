"""A receipt of thousands of logs on a public node: served, refused before it is rendered, and read in pages."""

from typing import Any

import pytest
from eth_account import Account

from live import Rpc, RpcFailure, live_node, wait_for

Account.enable_unaudited_hdwallet_features()  # type: ignore[no-untyped-call]
SENDER = Account.from_mnemonic("test test test test test test test test test test test junk")  # type: ignore[no-untyped-call]
# Emits empty logs until 65,535 gas is left.
EMITTER = "0x5b5f5fa061ffff5a115f5700"
GAS = 1 << 24
LOGS = 40_000


def emit(rpc: Rpc) -> str:
    """Send the transaction with the largest receipt that its gas buys, and return its hash."""
    signed = SENDER.sign_transaction(
        {
            "type": 2,
            "chainId": 31337,
            "nonce": 0,
            "gas": GAS,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
            "value": 0,
            "data": EMITTER,
        }
    )
    transaction: str = rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
    wait_for(lambda: rpc("foreseal_transactionStatus", transaction)["status"] == "sealed", 20, "seal")
    return transaction


def page_through(rpc: Rpc, transaction: str) -> list[int]:
    """Return the indexes of all logs of a transaction's block, read in pages."""
    block = rpc("foreseal_transactionStatus", transaction)["blockNumber"]
    query: dict[str, Any] = {"filter": {"fromBlock": block, "toBlock": block}, "limit": hex(5_000)}
    indexes: list[int] = []
    while True:
        page = rpc("foreseal_getLogs", query)
        indexes += [int(log["logIndex"], 16) for log in page["logs"]]
        if page["cursor"] is None:
            return indexes
        query["cursor"] = page["cursor"]


@pytest.mark.parametrize("transport", ["native", "asgi"])
def test_largest_receipt_is_served_by_default(transport: str) -> None:
    with live_node("--public", "--public-rate", "0", "--public-cpu", "0", "--transport", transport) as node:
        transaction = emit(node.rpc)
        receipt = node.rpc("eth_getTransactionReceipt", transaction)
        assert len(receipt["logs"]) > LOGS
        assert page_through(node.rpc, transaction) == list(range(len(receipt["logs"])))


def test_receipt_above_limit_is_refused_and_paged() -> None:
    with live_node("--public", "--public-rate", "0", "--public-cpu", "0", "--public-max-response", "4000000") as node:
        transaction = emit(node.rpc)
        with pytest.raises(RpcFailure) as refused:
            node.rpc("eth_getTransactionReceipt", transaction)
        assert refused.value.code == -32005
        assert refused.value.data == {"limit": "response", "max": 4_000_000}
        assert "foreseal_getLogs" in refused.value.message
        indexes = page_through(node.rpc, transaction)
        assert len(indexes) > LOGS
        assert indexes == list(range(len(indexes)))
