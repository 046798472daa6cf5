"""Results from JSON: parsed fields, optional fields, and errors for wrong values."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from client.scripted import HEADER, ScriptedNode
from foreseal.client import Block, Cursor, Flashblock, InvalidResponse, Log, Position, Receipt, Status, calls
from foreseal.client.requests import block_id

LOG = {
    "address": "0xaa",
    "topics": ["0x01"],
    "data": "0x",
    "blockNumber": "0x7",
    "blockHash": "0xbb",
    "blockTimestamp": "0x9",
    "transactionHash": "0xcc",
    "transactionIndex": "0x0",
    "logIndex": "0x2",
    "removed": False,
}


def test_quantities_are_integers_and_other_values_stay_strings() -> None:
    log = Log.read(LOG)
    assert (log.block_number, log.block_timestamp, log.log_index, log.topics) == (7, 9, 2, ("0x01",))
    with pytest.raises(FrozenInstanceError):
        log.data = "0x00"  # type: ignore[misc]
    assert not hasattr(log, "__dict__")


def test_unknown_fields_are_ignored_and_optional_ones_may_be_missing() -> None:
    assert Log.read(LOG | {"newField": 1, "blockTimestamp": None}).block_timestamp is None
    assert Log.read({name: value for name, value in LOG.items() if name != "blockTimestamp"}).block_timestamp is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": None}, "Log: data is missing"),
        ({"blockNumber": "7"}, "Log: blockNumber is '7'"),
        ({"blockNumber": True}, "Log: blockNumber is True"),
        ({"blockNumber": "0xzz"}, "Log: blockNumber is '0xzz'"),
        ({"topics": "0x01"}, "Log: topics is '0x01'"),
        ({"removed": "no"}, "Log: removed is 'no'"),
        ({"address": 5}, "Log: address is 5"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidResponse, match=says):
        Log.read(LOG | change)
    with pytest.raises(InvalidResponse, match="expected an object"):
        Log.read([LOG])


def test_receipt_before_byzantium_has_a_root_instead_of_a_status() -> None:
    names = "blockHash transactionHash from logsBloom".split()
    numbers = "blockNumber transactionIndex type gasUsed cumulativeGasUsed effectiveGasPrice".split()
    receipt = dict.fromkeys(names, "0x00") | dict.fromkeys(numbers, "0x1") | {"to": None, "logs": [LOG]}
    assert (Receipt.read(receipt | {"root": "0xdd"}).root, Receipt.read(receipt).succeeded) == ("0xdd", None)
    assert [Receipt.read(receipt | {"status": status}).succeeded for status in ("0x0", "0x1")] == [False, True]
    assert Receipt.read(receipt).logs == (Log.read(LOG),)


def test_a_block_has_its_transactions_in_full_or_by_hash() -> None:
    header = HEADER | dict.fromkeys(("number", "gasLimit", "gasUsed", "timestamp", "size"), "0x1") | {"hash": "0x1"}
    short = Block.read(header | {"uncles": [], "transactions": ["0xaa", "0xbb"]})
    assert (short.transaction_hashes, short.transactions) == (("0xaa", "0xbb"), None)
    assert Block.read(header | {"uncles": [], "transactions": []}).transaction_hashes == ()


def test_a_saved_cursor_of_a_flashblock_is_read_back() -> None:
    step = ScriptedNode().add(seal=True)
    place = Flashblock.read(step).cursor
    assert place == Cursor(1, 0, step["hash"])
    assert Cursor.read(place.to_json()) == place
    for wrong in (None, {}, {"block": "0x1", "index": "one", "hash": "0x"}):
        with pytest.raises(ValueError, match="not a cursor"):
            Cursor.read(wrong)


def test_status_during_replay_has_no_position() -> None:
    pool = {"pooled": 1, "queued": 0, "bytes": 9, "start": "new"}
    said = {
        "block": None,
        "age": 12,
        "role": "sequencer",
        "lag": 0,
        "phase": "replaying",
        "producing": True,
        "pool": pool,
    }
    status = Status.read(said)
    assert (status.block, status.age, status.pool.pooled) == (None, 12, 1)


def test_block_identifiers_of_every_kind_are_accepted() -> None:
    place, hash = Cursor(5, 2, "0x" + "ab" * 32), "0x" + "ab" * 32
    assert block_id(5) == "0x5"
    assert block_id("pending") == "pending"
    assert block_id(hash) == block_id(bytes.fromhex("ab" * 32)) == block_id(place) == {"blockHash": hash}
    assert block_id(Position(5, 2)) == {"blockNumber": "0x5", "flashblockIndex": "0x2"}
    assert calls.get_block(place).method == "eth_getBlockByHash"
    assert calls.get_block(5).method == "eth_getBlockByNumber"
    wrong: Any
    for wrong in (True, 1.5, None):
        with pytest.raises(TypeError, match="block must be a number"):
            block_id(wrong)
    with pytest.raises(ValueError, match="block must be 0 or more"):
        block_id(-1)
