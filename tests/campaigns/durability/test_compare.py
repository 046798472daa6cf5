"""The comparison of a campaign detects every kind of loss; otherwise a clean result would prove nothing."""

import json
import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import pytest
from eth_account import Account

from live import DEV_ACCOUNTS, Rpc, wait_for
from live.blocks import wait_for_block
from traffic.clients import Deployed, position_in
from traffic.compare import check_reached, compare
from traffic.record import Record, Step
from traffic.wallet import Wallet

PENDING = ("eth_getBlockByNumber", "pending", False)


def test_fast_signatures_equal_those_of_eth_account() -> None:
    for nonce in range(20):
        signed = Wallet(DEV_ACCOUNTS[3]).sign(nonce, b"\x11" * 20, value=nonce)
        assert Account.recover_transaction(signed.raw) == DEV_ACCOUNTS[3].address


@dataclass
class Recorded:
    """Two steps of a block that is sealed by now, and their recorded reads."""

    record: Record
    first: tuple[int, int]
    last: tuple[int, int]


@pytest.fixture(scope="module")
def recorded(rpc: Rpc) -> Recorded:
    Deployed(rpc)
    record, wallet, nonce = Record(), Wallet(DEV_ACCOUNTS[0]), 0
    positions: list[tuple[int, int]] = []
    while len(positions) < 2:
        positions.clear()
        number = int(rpc(PENDING[0], *PENDING[1:])["number"], 16)
        wait_for_block(rpc, number)
        for _ in range(2):
            pair = [wallet.sign(nonce + more, b"\x22" * 20, value=5) for more in range(2)]
            nonce += 2
            for signed in pair:
                rpc("eth_sendRawTransaction", signed.raw)
            for signed in pair:
                name = signed.hash
                record.saw_receipt(wait_for(partial(rpc, "eth_getTransactionReceipt", name), 10, "receipt"))
            status, block, receipts = rpc.batch(("foreseal_status",), PENDING, ("eth_getBlockReceipts", "pending"))
            record.saw_step(status, block, receipts)
            position = int(status["block"], 16), int(status["index"], 16)
            if position[0] == number + 1:
                positions.append(position)
    answer = rpc.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": PENDING[0], "params": PENDING[1:]}).encode())
    record.saw_answer(position_in(answer.headers["x-foreseal-view"]), answer.json()["result"])
    wait_for_block(rpc, record.newest[0])
    return Recorded(record, positions[0], positions[1])


def kinds_found(rpc: Rpc, record: Record) -> set[str]:
    """Return the kinds of faults in a comparison with this record."""
    faults = Record()
    compare(rpc, record, faults)
    return set(faults.counts)


def copy_of(recorded: Recorded) -> Record:
    record = recorded.record.after((0, 0))
    for name in ("steps", "receipts", "answers", "receipt_positions", "sealed"):
        setattr(record, name, deepcopy(getattr(record, name)))
    return record


def test_record_from_a_position_has_every_later_read() -> None:
    whole, draw = Record(), random.Random(1)
    for name in draw.sample([f"{name:064x}" for name in range(1000)], 300):
        number, index = draw.randrange(30), draw.randrange(5)
        status = {"block": hex(number), "index": hex(index), "hash": name, "latest": hex(max(number - 1, 0))}
        block = {"number": hex(number), "hash": name, "parentHash": str(number), "transactions": []}
        receipt = {"transactionHash": name, "blockNumber": hex(number), "transactionIndex": "0x0", "blockHash": name}
        whole.saw_step(status, block, [])
        whole.saw_answer((max(number - 1, 0), index), block)
        whole.saw_receipt(receipt | {"logs": []})
    for since in ((0, 0), (7, 3), (29, 4), (30, 0)):
        part = whole.after(since)
        assert part.steps == {at: step for at, step in whole.steps.items() if at >= since}
        assert part.receipts == {at: digest for at, digest in whole.receipts.items() if at >= since}
        assert part.answers == {name: answer for name, answer in whole.answers.items() if answer.minimum >= since}
        assert part.receipt_positions == {
            name: place for name, place in whole.receipt_positions.items() if place.number >= since[0]
        }
        assert part.sealed == {number: name for number, name in whole.sealed.items() if number >= since[0]}
        parts = [*whole.chunks(30 - since[0])]
        assert len(parts) > 1 or since[0] > 8
        for field in ("steps", "receipts", "answers", "receipt_positions", "sealed"):
            joined = {key: value for each in parts for key, value in getattr(each, field).items()}
            assert joined == getattr(whole.after((whole.newest[0] - 30 + since[0], 0)), field)
        assert (part.newest, part.after((9, 0)).steps) == (whole.newest, whole.after(max(since, (9, 0))).steps)


def test_unchanged_chain_matches_the_record(rpc: Rpc, recorded: Recorded) -> None:
    assert recorded.record.faults == []
    faults = Record()
    assert compare(rpc, recorded.record, faults) >= 9
    assert faults.faults == []


def lose_a_step(record: Record, last: tuple[int, int]) -> None:
    record.steps[last[0], last[1] + 50] = Step("0x" + "12" * 32, record.steps[last].transactions)


def change_a_hash(record: Record, last: tuple[int, int]) -> None:
    before = record.steps[
        last[0], max(index for number, index in record.steps if number == last[0] and index < last[1])
    ]
    record.steps[last] = Step(before.hash, record.steps[last].transactions)


def add_a_transaction(record: Record, last: tuple[int, int]) -> None:
    step = record.steps[last]
    record.steps[last] = Step(step.hash, (*step.transactions, "0x" + "34" * 32))


def swap_transactions(record: Record, last: tuple[int, int]) -> None:
    step = record.steps[last]
    record.steps[last] = Step(step.hash, step.transactions[::-1])


def change_receipts(record: Record, last: tuple[int, int]) -> None:
    record.receipts[last] = "other"


def lose_a_receipt(record: Record, last: tuple[int, int]) -> None:
    record.receipt_positions["0x" + "56" * 32] = next(iter(record.receipt_positions.values()))


def move_a_receipt(record: Record, last: tuple[int, int]) -> None:
    name, place = next(iter(record.receipt_positions.items()))
    record.receipt_positions[name] = place._replace(transaction_index=place.transaction_index + 1)


def change_a_sealed_block(record: Record, last: tuple[int, int]) -> None:
    record.sealed[last[0] - 1] = "0x" + "78" * 32


def lose_a_sealed_block(record: Record, last: tuple[int, int]) -> None:
    record.sealed[10**6] = "0x" + "78" * 32


def lose_an_answer(record: Record, last: tuple[int, int]) -> None:
    record.answers["0x" + "9a" * 32] = next(iter(record.answers.values()))


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lose_a_step, "lost"),
        (change_a_hash, "lost"),
        (add_a_transaction, "lost"),
        (swap_transactions, "reordered"),
        (change_receipts, "changed"),
        (lose_a_receipt, "lost"),
        (move_a_receipt, "reordered"),
        (change_a_sealed_block, "changed"),
        (lose_a_sealed_block, "lost"),
        (lose_an_answer, "lost"),
    ],
)
def test_changed_block_is_reported(
    rpc: Rpc, recorded: Recorded, damage: Callable[[Record, tuple[int, int]], None], kind: str
) -> None:
    record = copy_of(recorded)
    damage(record, recorded.last)
    assert kind in kinds_found(rpc, record)


def test_node_behind_the_record_is_reported(rpc: Rpc, recorded: Recorded) -> None:
    record = copy_of(recorded)
    record.newest = (10**6, 0)
    faults = Record()
    check_reached(rpc, record, faults)
    # The node was not killed, so its pool must not be lost.
    assert set(faults.counts) == {"lost", "pool"}
