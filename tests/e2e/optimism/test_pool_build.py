"""Recorded blocks built from the pool: where tips and nonces determine the order, the payload is op-geth's.

The driver pins the deposits alone. The other transactions are in the pool before the driver opens the block.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from live import wait_for
from live_node import shared
from optimism import OptimismNode, optimism_node
from optimism.model.comparison import hexed
from optimism.model.recorded_blocks import CHAINS, RecordedBlock, recorded_blocks
from optimism.model.transactions import DEPOSIT_TYPE, SignedFields, decode_transaction

SECONDS = 30.0
ZERO_HASH = "0x" + bytes(32).hex()


GET_PAYLOAD = {"jovian": "engine_getPayloadV4", "karst": "engine_getPayloadV5", "karst-reorg": "engine_getPayloadV5"}
LIMITED = range(97, 100)
"""Blocks of `karst` whose 250 transfers were in the pool at once; the DA footprint limits the first two to 112."""


@pytest.mark.parametrize("name", CHAINS)
def test_payloads_from_the_pool_are_those_recorded(name: str, tmp_path: Path) -> None:
    pooled = total = 0
    with recorded_node(name, tmp_path) as node:
        for block in recorded_blocks(shared("optimism"), name)[1:]:
            total += len(signed(block))
            if is_determined(block):
                submit(node, [block])
                pooled += len(signed(block))
            build(node, block, GET_PAYLOAD[name], from_pool=is_determined(block))
    assert pooled > total // 2 > 15


def test_footprint_limits_blocks_from_the_pool_as_recorded(tmp_path: Path) -> None:
    blocks = recorded_blocks(shared("optimism"), "karst")
    limited = [blocks[number] for number in LIMITED]
    assert [len(signed(block)) for block in limited] == [112, 112, 26]
    with recorded_node("karst", tmp_path) as node:
        for block in blocks[1 : LIMITED.start]:
            build(node, block, GET_PAYLOAD["karst"], from_pool=False)
        submit(node, limited)
        for block in limited:
            build(node, block, GET_PAYLOAD["karst"], from_pool=True)


@contextmanager
def recorded_node(name: str, folder: Path) -> Iterator[OptimismNode]:
    """Run a node with the genesis of a recorded chain."""
    genesis = json.loads((shared("optimism") / f"genesis-{name}.json").read_text())
    with optimism_node(folder / "node", genesis) as node:
        yield node


def signed(block: RecordedBlock) -> list[str]:
    return [hexed(raw) for raw in block.transactions if raw[0] != DEPOSIT_TYPE]


def submit(node: OptimismNode, blocks: list[RecordedBlock]) -> None:
    """Make the parent of the first block the head, and send the transactions of these blocks to the pool."""
    choose_head(node, blocks[0].block["parentHash"], None)
    node.rpc.batch(*(("eth_sendRawTransaction", raw) for block in blocks for raw in signed(block)))


def build(node: OptimismNode, block: RecordedBlock, get_payload: str, from_pool: bool) -> None:
    """Let the node build a block and make it the head; it must be the recorded one."""
    payload_id = choose_head(node, block.block["parentHash"], attributes(block, pin_all=not from_pool))
    if from_pool:
        wait_until_pending(node, block)
    payload = node.engine(get_payload, payload_id)["executionPayload"]
    assert payload["transactions"] == [hexed(raw) for raw in block.transactions]
    assert payload["blockHash"] == block.block["hash"]
    status = node.engine("engine_newPayloadV4", payload, [], block.block["parentBeaconBlockRoot"], [])
    assert status["status"] == "VALID", status
    choose_head(node, block.block["hash"], None)


def is_determined(block: RecordedBlock) -> bool:
    """Return True if the order is the only one in which each transaction has the highest tip of all next nonces."""
    base_fee = int(block.block["baseFeePerGas"], 16)
    decoded = map(decode_transaction, block.transactions)
    ordered = [fields for fields in decoded if isinstance(fields, SignedFields)]
    waiting: dict[bytes, list[SignedFields]] = {}
    for fields in ordered:
        waiting.setdefault(fields.sender, []).append(fields)
    for fields in ordered:
        tips = {sender: queue[0].effective_price(base_fee) for sender, queue in waiting.items() if queue}
        if [sender for sender, tip in tips.items() if tip == max(tips.values())] != [fields.sender]:
            return False
        waiting[fields.sender].pop(0)
    return bool(ordered)


def wait_until_pending(node: OptimismNode, block: RecordedBlock) -> None:
    """Wait until the pending block has all transactions."""

    def is_pending() -> bool:
        pending: dict[str, Any] = node.rpc("eth_getBlockByNumber", "pending", False)
        return len(pending["transactions"]) == len(block.transactions)

    wait_for(is_pending, SECONDS, f"{len(block.transactions)} transactions in block {block.block['number']}")


def choose_head(node: OptimismNode, head: str, given: dict[str, Any] | None) -> str:
    state = {"headBlockHash": head, "safeBlockHash": ZERO_HASH, "finalizedBlockHash": ZERO_HASH}
    result = node.engine("engine_forkchoiceUpdatedV3", state, given)
    assert result["payloadStatus"]["status"] == "VALID", result
    return str(result["payloadId"])


def attributes(block: RecordedBlock, pin_all: bool) -> dict[str, Any]:
    """Return attributes that lead to the block: with all its transactions, or with its deposits."""
    fields = block.block
    return {
        "timestamp": fields["timestamp"],
        "prevRandao": fields["mixHash"],
        "suggestedFeeRecipient": fields["miner"],
        "withdrawals": [],
        "parentBeaconBlockRoot": fields["parentBeaconBlockRoot"],
        "transactions": [hexed(raw) for raw in block.transactions if pin_all or raw[0] == DEPOSIT_TYPE],
        "noTxPool": pin_all,
        "gasLimit": fields["gasLimit"],
        "eip1559Params": "0x" + fields["extraData"][4:20],
        "minBaseFee": int(fields["extraData"][20:], 16),
    }
