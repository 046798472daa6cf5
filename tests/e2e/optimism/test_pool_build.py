"""Recorded blocks built from the pool: where tips and nonces determine the order, the payload is op-geth's.

The driver pins the deposits alone. The other transactions are in the pool before the driver begins the block.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eth_utils.hexadecimal import encode_hex

from optimism import Fork, OptimismNode, optimism_node
from optimism.model.recorded_blocks import RecordedBlock, recorded_blocks
from optimism.model.transactions import DEPOSIT_TYPE, SignedFields, decode_transaction
from optimism.pending import wait_for_pending_count
from optimism.recordings import RECORDED_CHAINS, genesis_file, recorded_fork

LIMITED = range(97, 100)
"""Blocks of `karst` whose 250 transfers were in the pool at once; the DA footprint limits the first two to 112."""


@pytest.mark.parametrize("name", RECORDED_CHAINS)
def test_payloads_from_the_pool_are_those_recorded(name: str, tmp_path: Path) -> None:
    pooled = total = 0
    with recorded_node(name, tmp_path) as node:
        for block in recorded_blocks(name)[1:]:
            total += len(signed(block))
            if is_determined(block):
                submit(node, [block])
                pooled += len(signed(block))
            build(node, block, recorded_fork(name), from_pool=is_determined(block))
    # More than half of the transactions, of which every chain has more than 30.
    assert pooled > total // 2 > 15


def test_footprint_limits_blocks_from_the_pool_as_recorded(tmp_path: Path) -> None:
    blocks = recorded_blocks("karst")
    limited = [blocks[number] for number in LIMITED]
    assert [len(signed(block)) for block in limited] == [112, 112, 26]
    with recorded_node("karst", tmp_path) as node:
        for block in blocks[1 : LIMITED.start]:
            build(node, block, Fork.KARST, from_pool=False)
        submit(node, limited)
        for block in limited:
            build(node, block, Fork.KARST, from_pool=True)


@contextmanager
def recorded_node(name: str, folder: Path) -> Iterator[OptimismNode]:
    """Run a node with the genesis of a recorded chain."""
    with optimism_node(folder / "node", genesis_file(name)) as node:
        yield node


def signed(block: RecordedBlock) -> list[str]:
    """Return the encodings of all transactions but the deposits."""
    return [encode_hex(raw) for raw in block.transactions if raw[0] != DEPOSIT_TYPE]


def submit(node: OptimismNode, blocks: list[RecordedBlock]) -> None:
    """Make the parent of the first block the head, and send the transactions of these blocks to the pool."""
    node.engine.choose_head(blocks[0].block["parentHash"])
    node.rpc.batch(*(("eth_sendRawTransaction", raw) for block in blocks for raw in signed(block)))


def build(node: OptimismNode, block: RecordedBlock, fork: Fork, from_pool: bool) -> None:
    """Build a block on a node and make it the head; it must be the recorded one."""
    payload_id = node.engine.begin_payload(block.block["parentHash"], attributes(block, pin_all=not from_pool))
    if from_pool:
        wait_for_pending_count(node.rpc, len(block.transactions))
    payload = node.engine(fork.get_payload, payload_id)["executionPayload"]
    assert payload["transactions"] == [encode_hex(raw) for raw in block.transactions]
    assert payload["blockHash"] == block.block["hash"]
    node.engine.import_payload(payload, block.block["parentBeaconBlockRoot"])
    node.engine.choose_head(block.block["hash"])


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


def attributes(block: RecordedBlock, pin_all: bool) -> dict[str, Any]:
    """Return the attributes of the block, with all its transactions or with its deposits only."""
    fields = block.block
    return {
        "timestamp": fields["timestamp"],
        "prevRandao": fields["mixHash"],
        "suggestedFeeRecipient": fields["miner"],
        "withdrawals": [],
        "parentBeaconBlockRoot": fields["parentBeaconBlockRoot"],
        "transactions": [encode_hex(raw) for raw in block.transactions if pin_all or raw[0] == DEPOSIT_TYPE],
        "noTxPool": pin_all,
        "gasLimit": fields["gasLimit"],
        "eip1559Params": "0x" + fields["extraData"][4:20],
        "minBaseFee": int(fields["extraData"][20:], 16),
    }
