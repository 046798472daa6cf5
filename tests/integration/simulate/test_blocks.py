"""Headers of simulated blocks: overridden and derived fields, and the values that code reads."""

from itertools import pairwise
from typing import Any

import pytest

from foreseal.testing import Chain
from simulate_calls import ALICE, BOB, CODE, NOBODY, bytes32, one, returns, simulate

FEE_RECIPIENT = "0x00000000000000000000000000000000000fee00"
RANDOM = bytes32(0x1234)

# Override, its JSON, the instruction that reads it, the resulting value, the header's field (or None).
SEEN: list[tuple[str, Any, str, int, str | None]] = [
    ("number", "0x20", "43", 0x20, "number"),
    ("time", "0x77777777", "42", 0x77777777, "timestamp"),
    ("gasLimit", "0xabcdef", "45", 0xABCDEF, "gasLimit"),
    ("feeRecipient", FEE_RECIPIENT, "41", int(FEE_RECIPIENT, 16), "miner"),
    ("prevRandao", RANDOM, "44", 0x1234, "mixHash"),
    ("baseFeePerGas", "0x0", "48", 0, "baseFeePerGas"),
    ("blobBaseFee", "0x99", "4a", 0x99, None),
]


@pytest.mark.parametrize(("name", "value", "instruction", "seen", "field"), SEEN)
def test_code_and_header_use_the_overrides(
    chain: Chain, name: str, value: Any, instruction: str, seen: int, field: str | None
) -> None:
    block = simulate(
        chain,
        {
            "blockOverrides": {name: value},
            "stateOverrides": {CODE: {"code": returns(instruction)}},
            "calls": [{"from": ALICE, "to": CODE}],
        },
    )[-1]
    assert block["calls"][0]["returnData"] == bytes32(seen)
    if field is not None:
        assert block[field] == value


def test_block_overrides_last_one_block_and_state_overrides_persist(chain: Chain) -> None:
    shown = {"from": ALICE, "to": CODE}
    first = {
        "blockOverrides": {"feeRecipient": FEE_RECIPIENT, "prevRandao": RANDOM},
        "stateOverrides": {CODE: {"code": returns("44")}, NOBODY: {"balance": "0x5"}},
        "calls": [shown],
    }
    blocks = simulate(chain, first, {"calls": [shown, {"from": NOBODY, "to": BOB, "value": "0x5"}]})
    assert [block["calls"][0]["returnData"] for block in blocks] == [RANDOM, bytes32(0)]
    assert blocks[1]["calls"][1]["status"] == "0x1"
    # The next header derives from the one before, except for random fields.
    assert [block["miner"] for block in blocks] == [FEE_RECIPIENT] * 2
    assert [block["mixHash"] for block in blocks] == [RANDOM, bytes32(0)]


def test_blocks_form_a_chain_on_the_base(chain: Chain) -> None:
    base = chain.rpc("eth_getBlockByNumber", "latest", False)
    blocks = simulate(chain, {}, {"blockOverrides": {"number": "0x4"}}, {"calls": [{}]})
    assert [int(block["number"], 16) for block in blocks] == [1, 2, 3, 4, 5]
    hashes = [base["hash"], *(block["hash"] for block in blocks)]
    assert [block["parentHash"] for block in blocks] == hashes[:-1]
    times = [int(block["timestamp"], 16) for block in (base, *blocks)]
    assert [after - before for before, after in pairwise(times)] == [12] * 5


def test_blockhash_covers_simulated_blocks_and_the_base(chain: Chain) -> None:
    base = chain.rpc("eth_getBlockByNumber", "latest", False)
    overrides = {"stateOverrides": {CODE: {"code": returns("5f3540")}}}
    call = [{"from": ALICE, "to": CODE, "input": bytes32(number)} for number in range(4)]
    first, _, third = simulate(chain, overrides, {}, {"calls": call})
    seen = [result["returnData"] for result in third["calls"]]
    assert seen == [base["hash"], first["hash"], third["parentHash"], bytes32(0)]


def test_withdrawals_are_paid_at_the_end_of_the_block(chain: Chain) -> None:
    paid = {"index": "0x1", "validatorIndex": "0x2", "address": NOBODY, "amount": "0x3"}
    balance = {"from": ALICE, "to": CODE}
    first = {
        "blockOverrides": {"withdrawals": [paid]},
        "stateOverrides": {CODE: {"code": returns(f"73{NOBODY[2:]}31")}},
        "calls": [balance],
    }
    blocks = simulate(chain, first, {"calls": [balance]})
    assert [block["calls"][0]["returnData"] for block in blocks] == [bytes32(0), bytes32(3 * 10**9)]
    assert [block["withdrawals"] for block in blocks] == [[paid], []]
    assert blocks[0]["withdrawalsRoot"] != blocks[1]["withdrawalsRoot"]


def test_fee_recipient_gets_the_tip_and_the_base_fee_burns(chain: Chain) -> None:
    pay = {"from": ALICE, "to": BOB, "gas": "0x5208", "maxFeePerGas": "0x20", "maxPriorityFeePerGas": "0x3"}
    overrides = {"feeRecipient": FEE_RECIPIENT, "baseFeePerGas": "0x7"}
    balance = {CODE: {"code": returns(f"73{FEE_RECIPIENT[2:]}31")}}
    (block,) = simulate(
        chain,
        {"blockOverrides": overrides, "stateOverrides": balance, "calls": [pay, {"from": ALICE, "to": CODE}]},
        validation=False,
    )
    assert block["calls"][1]["returnData"] == bytes32(3 * 21_000)


def test_a_state_override_replaces_or_changes_storage(chain: Chain) -> None:
    loads = returns("5f3554")
    reads = [{"from": ALICE, "to": CODE, "input": bytes32(slot)} for slot in (1, 2)]
    first = {
        "stateOverrides": {CODE: {"code": loads, "state": {bytes32(1): bytes32(11), bytes32(2): bytes32(22)}}},
        "calls": reads,
    }
    changed = {"stateOverrides": {CODE: {"stateDiff": {bytes32(1): bytes32(111)}}}, "calls": reads}
    replaced = {"stateOverrides": {CODE: {"state": {bytes32(2): bytes32(222)}}}, "calls": reads}
    seen = [[call["returnData"] for call in block["calls"]] for block in simulate(chain, first, changed, replaced)]
    assert seen == [[bytes32(11), bytes32(22)], [bytes32(111), bytes32(22)], [bytes32(0), bytes32(222)]]


def test_nonce_determines_the_contract_address(chain: Chain) -> None:
    made = {"from": ALICE, "input": "0x6001600c60003960016000f300"}
    blocks = simulate(
        chain,
        {"stateOverrides": {ALICE: {"nonce": "0x5"}}, "calls": [made]},
        {"calls": [made]},
        returnFullTransactions=True,
    )
    assert [block["transactions"][0]["nonce"] for block in blocks] == ["0x5", "0x6"]
    assert [block["calls"][0]["status"] for block in blocks] == ["0x1", "0x1"]


def test_transactions_are_returned_in_the_requested_form(chain: Chain) -> None:
    block = {"calls": [{"from": ALICE, "to": BOB, "value": "0x1"}, {"from": ALICE, "to": BOB, "gasPrice": "0x0"}]}
    ((hashes,), (full,)) = (simulate(chain, block, returnFullTransactions=wanted) for wanted in (False, True))
    assert [one["hash"] for one in full["transactions"]] == hashes["transactions"]
    assert [one["type"] for one in full["transactions"]] == ["0x2", "0x0"]
    assert [one["from"] for one in full["transactions"]] == [ALICE, ALICE]
    assert full | {"transactions": None} == hashes | {"transactions": None}


@pytest.mark.parametrize("tag", ["latest", "pending", "safe", "finalized", "earliest", "0x0"])
def test_every_block_tag_can_be_the_base(chain: Chain, tag: str) -> None:
    base = chain.rpc("eth_getBlockByNumber", tag, False)
    (block,) = simulate(chain, {}, at=tag)
    assert (block["parentHash"], int(block["number"], 16)) == (base["hash"], int(base["number"], 16) + 1)


def test_a_single_simulated_call_equals_eth_call(chain: Chain) -> None:
    call = {"from": ALICE, "to": CODE, "input": "0x1234"}
    overrides = {CODE: {"code": "0x365f5f37365ff3"}}
    assert one(chain, call, stateOverrides=overrides)["returnData"] == chain.rpc("eth_call", call, "latest", overrides)
