"""Every block of the recorded chain, and every method that returns a part of one: shapes and consistency.

The chain covers every fork from Frontier to Prague and has transactions of every type.
"""

from typing import Any

import pytest

from live import LiveNode
from live.shapes import (
    DATA,
    LOG,
    QUANTITY,
    RECEIPT,
    SIMULATED_CALL,
    TRACE,
    TRANSACTION,
    WITH_HASHES,
    WITH_TRANSACTIONS,
    fits,
)

HEAD = 54


@pytest.fixture(scope="module")
def blocks(serving: LiveNode) -> list[dict[str, Any]]:
    """Return all blocks with their transactions."""
    numbers = range(HEAD + 1)
    return serving.rpc.batch(*(("eth_getBlockByNumber", hex(number), True) for number in numbers))


def test_blocks_match_their_schema(serving: LiveNode, blocks: list[dict[str, Any]]) -> None:
    assert len(blocks) == HEAD + 1
    for block in blocks:
        assert fits(block, WITH_TRANSACTIONS), block
        by_hash = serving.rpc("eth_getBlockByHash", block["hash"], False)
        assert fits(by_hash, WITH_HASHES), by_hash
        assert by_hash == block | {"transactions": [one["hash"] for one in block["transactions"]]}


def test_recorded_chain_has_every_transaction_type_and_fork(blocks: list[dict[str, Any]]) -> None:
    kinds = {one["type"] for block in blocks for one in block["transactions"]}
    assert kinds == {"0x0", "0x1", "0x2", "0x3", "0x4"}
    for since in ("baseFeePerGas", "withdrawals", "excessBlobGas", "requestsHash"):
        assert {since in block for block in blocks} == {False, True}


def test_a_transaction_is_the_same_by_every_method(serving: LiveNode, blocks: list[dict[str, Any]]) -> None:
    tried = 0
    for block in blocks:
        for index, shown in enumerate(block["transactions"]):
            assert fits(shown, TRANSACTION), shown
            place = hex(index)
            answers = serving.rpc.batch(
                ("eth_getTransactionByHash", shown["hash"]),
                ("eth_getTransactionByBlockHashAndIndex", block["hash"], place),
                ("eth_getTransactionByBlockNumberAndIndex", block["number"], place),
            )
            assert answers == [shown] * 3
            raws = serving.rpc.batch(
                ("debug_getRawTransaction", shown["hash"]),
                ("eth_getRawTransactionByHash", shown["hash"]),
                ("eth_getRawTransactionByBlockHashAndIndex", block["hash"], place),
                ("eth_getRawTransactionByBlockNumberAndIndex", block["number"], place),
            )
            assert fits(raws, [DATA])
            assert len(set(raws)) == 1
            tried += 1
    assert tried > 200


def test_receipts_match_their_schema_and_contain_the_logs(serving: LiveNode, blocks: list[dict[str, Any]]) -> None:
    for block in blocks:
        receipts = serving.rpc("eth_getBlockReceipts", block["number"])
        assert fits(receipts, [RECEIPT]), receipts
        assert [one["transactionHash"] for one in receipts] == [one["hash"] for one in block["transactions"]]
        assert all(("root" in one) != ("status" in one) for one in receipts)
        assert [serving.rpc("eth_getTransactionReceipt", one["transactionHash"]) for one in receipts] == receipts
        logs = serving.rpc("eth_getLogs", {"blockHash": block["hash"]})
        assert fits(logs, [LOG])
        assert logs == [log for one in receipts for log in one["logs"]]


def test_block_counts_match_the_block(serving: LiveNode, blocks: list[dict[str, Any]]) -> None:
    for block in blocks:
        transactions, uncles = hex(len(block["transactions"])), hex(len(block["uncles"]))
        counts = serving.rpc.batch(
            ("eth_getBlockTransactionCountByHash", block["hash"]),
            ("eth_getBlockTransactionCountByNumber", block["number"]),
            ("eth_getUncleCountByBlockHash", block["hash"]),
            ("eth_getUncleCountByBlockNumber", block["number"]),
        )
        assert counts == [transactions, transactions, uncles, uncles]


def test_traces_match_their_schema(serving: LiveNode, blocks: list[dict[str, Any]]) -> None:
    for block in blocks[1:]:
        by_number = serving.rpc("debug_traceBlockByNumber", block["number"])
        assert by_number == serving.rpc("debug_traceBlockByHash", block["hash"])
        assert [entry["txHash"] for entry in by_number] == [one["hash"] for one in block["transactions"]]
        for entry in by_number:
            assert entry.keys() == {"txHash", "result"}
            assert fits(entry["result"], TRACE), entry
        options = {"enableMemory": True, "enableReturnData": True}
        for one in block["transactions"][:2]:
            assert fits(serving.rpc("debug_traceTransaction", one["hash"], options), TRACE)


def test_transactions_replay_on_their_parent_blocks(serving: LiveNode, blocks: list[dict[str, Any]]) -> None:
    """Calls, estimates, access lists and simulations run the chain's own transactions on their parent blocks."""
    tried = 0
    for block in blocks[-12:]:
        before = hex(int(block["number"], 16) - 1)
        for one in block["transactions"]:
            call = {name: one[name] for name in ("from", "to", "value", "input") if one[name] is not None}
            listed = serving.rpc("eth_createAccessList", call, before)
            assert listed.keys() - {"error"} == {"accessList", "gasUsed"}
            (simulated,) = serving.rpc("eth_simulateV1", {"blockStateCalls": [{"calls": [call]}]}, before)
            calls = simulated.pop("calls")
            assert fits(calls, [SIMULATED_CALL]), calls
            assert fits(simulated, WITH_HASHES), simulated
            if calls[0]["status"] == "0x1" and "error" not in listed:
                assert fits(serving.rpc("eth_call", call, before), DATA)
                assert fits(serving.rpc("eth_estimateGas", call, before), QUANTITY)
                tried += 1
    assert tried > 10
