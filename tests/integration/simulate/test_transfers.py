"""Ether transfers as logs (`traceTransfers`)."""

from typing import Any

from foreseal.testing import Chain
from simulate_calls import ALICE, BOB, CAROL, CODE, OTHER_CODE, REVERTS, bytes32, sends_value_to, simulate

ETHER = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
PAY = {"from": ALICE, "to": BOB, "value": "0x7"}
LOGS_NOTHING = "5f5fa0"


def topic(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


def moved(chain: Chain, call: dict[str, Any], overrides: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Return sender, receiver and wei of each ether transfer in a call."""
    (block,) = simulate(chain, {"stateOverrides": overrides, "calls": [call]}, traceTransfers=True)
    logs = [log for log in block["calls"][0]["logs"] if log["address"] == ETHER]
    assert all(log["topics"][0] == TRANSFER for log in logs)
    return [(log["topics"][1], log["topics"][2], int(log["data"], 16)) for log in logs]


def test_plain_transfer_has_one_log(chain: Chain) -> None:
    assert moved(chain, PAY, {}) == [(topic(ALICE), topic(BOB), 7)]
    assert moved(chain, PAY | {"value": "0x0"}, {}) == []


def test_no_transfer_logs_without_the_option(chain: Chain) -> None:
    (block,) = simulate(chain, {"calls": [PAY]})
    assert block["calls"][0]["logs"] == []


def test_forwarded_value_is_logged_after_the_original_transfer(chain: Chain) -> None:
    through = {CODE: {"code": sends_value_to(OTHER_CODE)}, OTHER_CODE: {"code": sends_value_to(CAROL)}}
    expected = [(ALICE, CODE), (CODE, OTHER_CODE), (OTHER_CODE, CAROL)]
    assert moved(chain, PAY | {"to": CODE}, through) == [(topic(a), topic(b), 7) for a, b in expected]


def test_reverted_transfer_is_not_logged(chain: Chain) -> None:
    inner = {CODE: {"code": sends_value_to(OTHER_CODE)}, OTHER_CODE: {"code": sends_value_to(CAROL, REVERTS)}}
    assert moved(chain, PAY | {"to": CODE}, inner) == [(topic(ALICE), topic(CODE), 7)]
    assert moved(chain, PAY | {"to": CODE}, {CODE: {"code": sends_value_to(CAROL, REVERTS)}}) == []


def test_reverted_logs_take_no_index(chain: Chain) -> None:
    """Like geth since 1.17: the index of a log is its position among those that stay."""
    logs = f"0x{LOGS_NOTHING}"
    calls_a_log_that_reverts = sends_value_to(OTHER_CODE, LOGS_NOTHING + "00")
    overrides = {
        CODE: {"code": calls_a_log_that_reverts},
        OTHER_CODE: {"code": logs + REVERTS},
        CAROL: {"code": logs + LOGS_NOTHING + "00"},
    }
    calls = [PAY | {"to": OTHER_CODE}, PAY | {"to": CODE}, PAY | {"to": CAROL}]
    (block,) = simulate(chain, {"stateOverrides": overrides, "calls": calls})
    shown = [[(log["address"], log["logIndex"]) for log in call["logs"]] for call in block["calls"]]
    assert shown == [[], [(CODE, "0x0")], [(CAROL, "0x1"), (CAROL, "0x2")]]


def test_creation_value_is_logged(chain: Chain) -> None:
    ((_, to, wei),) = moved(chain, {"from": ALICE, "input": "0x00", "value": "0x9"}, {})
    # The address that Alice's first contract has on every chain.
    assert (to, wei) == (topic("0x5fbdb2315678afecb367f032d93f642f64180aa3"), 9)


def test_selfdestruct_logs_the_balance(chain: Chain) -> None:
    overrides = {CODE: {"code": f"0x73{CAROL[2:]}ff", "balance": "0x64"}}
    assert moved(chain, PAY | {"to": CODE}, overrides) == [
        (topic(ALICE), topic(CODE), 7),
        (topic(CODE), topic(CAROL), 107),
    ]


def test_delegatecall_logs_no_transfer(chain: Chain) -> None:
    delegates = f"0x5f5f5f5f73{OTHER_CODE[2:]}5af400"
    overrides = {CODE: {"code": delegates}, OTHER_CODE: {"code": "0x00"}}
    assert moved(chain, PAY | {"to": CODE}, overrides) == [(topic(ALICE), topic(CODE), 7)]


def test_tracing_transfers_changes_only_the_logs(chain: Chain) -> None:
    """Transfers are in no receipt: roots, bloom and hash are those of the block without them."""
    logs_and_sends = f"0x{LOGS_NOTHING}" + sends_value_to(CAROL, LOGS_NOTHING + "00")[2:]
    block = {"stateOverrides": {CODE: {"code": logs_and_sends}}, "calls": [PAY, PAY | {"to": CODE}, PAY]}
    ((plain,), (traced,)) = (simulate(chain, block, traceTransfers=wanted) for wanted in (False, True))
    assert {**plain, "calls": None} == {**traced, "calls": None}
    shown = [[(log["address"], log["logIndex"]) for log in call["logs"]] for call in traced["calls"]]
    contract = [(ETHER, "0x1"), (CODE, "0x2"), (ETHER, "0x3"), (CODE, "0x4")]
    assert shown == [[(ETHER, "0x0")], contract, [(ETHER, "0x5")]]
    assert [len(call["logs"]) for call in plain["calls"]] == [0, 2, 0]


def test_a_log_names_its_block_and_transaction(chain: Chain) -> None:
    (block,) = simulate(chain, {"calls": [PAY, PAY]}, traceTransfers=True)
    for index, call in enumerate(block["calls"]):
        (log,) = call["logs"]
        assert (log["blockHash"], log["blockNumber"]) == (block["hash"], block["number"])
        assert (log["blockTimestamp"], log["removed"]) == (block["timestamp"], False)
        assert (log["transactionHash"], log["transactionIndex"]) == (block["transactions"][index], hex(index))
        assert log["data"] == bytes32(7)
