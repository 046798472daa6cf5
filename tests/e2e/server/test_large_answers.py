"""A receipt of thousands of logs on a public node: served, rejected before it is rendered, and read in pages."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from certificates import certificates
from live import Rpc, RpcFailure, live_node, wait_for
from live.accounts import dev_account
from live.sending import Sender
from raw_websocket import RawWebSocket

# Emits empty logs until 65,535 gas is left.
EMITTER = "0x5b5f5fa061ffff5a115f5700"
GAS = 1 << 24
LOGS = 40_000
MIB = 1 << 20
PUBLIC = "--public", "--public-rate", "0", "--public-cpu", "0"


def emit(rpc: Rpc) -> str:
    """Send the transaction with the largest receipt that its gas buys, and return its hash."""
    transaction = Sender(rpc, dev_account(0)).send(to="", gas=GAS, data=EMITTER)
    wait_for(lambda: rpc("foreseal_transactionStatus", transaction)["status"] == "sealed", 20, "seal")
    return transaction


def page_through(rpc: Rpc, filter_object: dict[str, Any]) -> list[int]:
    """Return the indexes of all logs that match a filter, read in pages of bounded size."""
    query: dict[str, Any] = {"filter": filter_object, "limit": hex(10_000)}
    indexes: list[int] = []
    while True:
        page = rpc("foreseal_getLogs", query)
        indexes += [int(log["logIndex"], 16) for log in page["logs"]]
        # Each log has at least 348 bytes.
        assert len(page["logs"]) <= 2 * MIB // 348
        if page["cursor"] is None:
            return indexes
        query["cursor"] = page["cursor"]


def test_largest_receipt_is_served_by_default(transport: str) -> None:
    with live_node(*PUBLIC, "--transport", transport) as node:
        transaction = emit(node.rpc)
        receipt = node.rpc("eth_getTransactionReceipt", transaction)
        indexes = [int(log["logIndex"], 16) for log in receipt["logs"]]
        assert len(indexes) > LOGS
        assert indexes == list(range(len(indexes)))
        block = receipt["blockNumber"]
        for filter_object in ({"fromBlock": block, "toBlock": block}, {"blockHash": receipt["blockHash"]}):
            assert page_through(node.rpc, filter_object) == indexes
        port = urlsplit(node.rpc.url).port
        assert port
        with RawWebSocket(port, "/") as socket:
            assert socket.request("eth_getTransactionReceipt", transaction) == receipt
            assert socket.request("eth_getLogs", {"fromBlock": block, "toBlock": block}) == receipt["logs"]


def test_large_answer_is_complete_over_tls_and_in_a_batch(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
    tls = made.issue()
    options = "--transport", transport, "--tls-cert", str(tls.cert), "--tls-key", str(tls.key)
    with live_node(*options) as node:
        transaction = emit(node.rpc)
        receipt = node.rpc("eth_getTransactionReceipt", transaction)
        assert len(receipt["logs"]) > LOGS
        calls = [("eth_chainId", []), ("eth_getTransactionReceipt", [transaction]), ("eth_blockNumber", [])]
        body = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(calls)
        ]
        chain_id, batched, number = json.loads(node.rpc.post(json.dumps(body).encode()).body)
        assert (chain_id["result"], batched["result"]) == ("0x7a69", receipt)
        assert int(number["result"], 16) > 0


def test_receipt_above_limit_is_rejected_and_paged(transport: str) -> None:
    limit = 4_000_000
    # A public caller has 5/16 of the limit for all callers.
    with live_node(*PUBLIC, "--transport", transport, "--max-response", str(limit * 16 // 5)) as node:
        transaction = emit(node.rpc)
        block = node.rpc("foreseal_transactionStatus", transaction)["blockNumber"]
        for method, params in (
            ("eth_getTransactionReceipt", [transaction]),
            ("eth_getLogs", [{"fromBlock": block, "toBlock": block}]),
        ):
            with pytest.raises(RpcFailure) as rejected:
                node.rpc(method, *params)
            assert rejected.value.code == -32005
            assert rejected.value.data == {"limit": "response", "max": limit}
            assert "foreseal_getLogs" in rejected.value.message
        indexes = page_through(node.rpc, {"fromBlock": block, "toBlock": block})
        assert len(indexes) > LOGS
        assert indexes == list(range(len(indexes)))


@pytest.mark.parametrize("method", ["eth_getTransactionReceipt", "eth_getLogs"])
def test_concurrent_large_answers_have_a_budget(method: str) -> None:
    with live_node(*PUBLIC, "--public-max-caller-calls", "64") as node:
        transaction = emit(node.rpc)
        receipt = node.rpc("eth_getTransactionReceipt", transaction)
        argument: Any = transaction if method == "eth_getTransactionReceipt" else {"blockHash": receipt["blockHash"]}
        url = node.rpc.url

        def read(_: int) -> int:
            """Return the number of logs, or 0 if too many are in progress."""
            with closing(Rpc(url)) as rpc:
                answer = rpc.envelope(method, argument)
            if "error" not in answer:
                return len(answer["result"]["logs"] if method == "eth_getTransactionReceipt" else answer["result"])
            assert answer["error"]["code"] == -32005
            assert answer["error"]["data"] == {"limit": "large_responses", "max": 24 * MIB, "retryAfterMs": 1000}
            return 0

        with ThreadPoolExecutor(6) as threads:
            counts = set(threads.map(read, range(32)))
        assert counts - {0} == {len(receipt["logs"])}
        assert read(0) > LOGS, "the budget is free again"
