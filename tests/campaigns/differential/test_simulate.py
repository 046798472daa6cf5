"""`eth_simulateV1` of Foreseal and of anvil on the same chain: status, output, gas and logs of every call.

anvil's differences, where the execution API agrees with us: its first block has the number of the base, and gaps are
not filled. -3200 is the code of every failure. Nonces, order of blocks and their gas limits are not checked.
Precompiled contracts do not move, and contracts are not created. `traceTransfers` shows reverted transfers. Roots and
hashes differ, because genesis does.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from differential.anvil_replay import AnvilReplay, anvil_replay
from live import DEV_ACCOUNTS
from live.sending import signed
from simulate_calls import (
    ALICE,
    BOB,
    CAROL,
    CODE,
    ECHOES,
    NOBODY,
    OTHER_CODE,
    REVERTS,
    bytes32,
    returns,
    sends_value_to,
)

PAY = {"from": ALICE, "to": BOB, "value": "0x7"}
SHA256 = "0x0000000000000000000000000000000000000002"
SLOT = {"code": returns("5f54"), "stateDiff": {bytes32(0): bytes32(9)}}
FEE = {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": "0x1", "gas": "0x186a0"}

Case = tuple[list[dict[str, Any]], dict[str, Any]]
SAME: dict[str, Case] = {
    "a transfer": ([{"calls": [PAY]}], {}),
    "transfers shown": ([{"calls": [PAY, PAY]}], {"traceTransfers": True}),
    "valid transfers": ([{"calls": [PAY | FEE, PAY | FEE]}, {"calls": [PAY | FEE]}], {"validation": True}),
    "storage that is set": ([{"stateOverrides": {CODE: SLOT}, "calls": [{"to": CODE}]}], {}),
    "code that echoes": (
        [{"stateOverrides": {CODE: {"code": ECHOES}}, "calls": [{"to": CODE, "input": "0xc0ffee"}]}],
        {},
    ),
    "a balance that is set": (
        [{"stateOverrides": {NOBODY: {"balance": "0x5"}}, "calls": [{"from": NOBODY, "to": BOB, "value": "0x5"}]}],
        {},
    ),
    "state that stays": (
        [
            {"stateOverrides": {CODE: {"code": "0x5f355f55"}}, "calls": [{"to": CODE, "input": bytes32(3)}]},
            {"stateOverrides": {CODE: {"code": returns("5f54")}}, "calls": [{"to": CODE}]},
        ],
        {},
    ),
    "a revert in the middle": (
        [{"stateOverrides": {CODE: {"code": f"0x{REVERTS}"}}, "calls": [PAY, {"from": ALICE, "to": CODE}, PAY]}],
        {},
    ),
    "a block that is set": (
        [
            {
                "blockOverrides": {"number": "0x40", "time": "0x7fffffff", "feeRecipient": CAROL},
                "stateOverrides": {CODE: {"code": returns("43420141")}},
                "calls": [{"to": CODE}],
            }
        ],
        {},
    ),
    "ether through a contract": (
        [{"stateOverrides": {CODE: {"code": sends_value_to(OTHER_CODE)}}, "calls": [PAY | {"to": CODE}]}],
        {"traceTransfers": True},
    ),
    "a halt": ([{"stateOverrides": {CODE: {"code": "0xfe"}}, "calls": [{"to": CODE, "gas": "0x10000"}]}], {}),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnvilReplay]:
    with anvil_replay(tmp_path_factory.mktemp("simulated"), "--block-time", "1s") as both:
        both.send(signed(DEV_ACCOUNTS[0], 0, to=DEV_ACCOUNTS[1].address, value=5))
        both.settle()
        yield both


def ended(call: dict[str, Any]) -> tuple[Any, ...]:
    """Return the properties on which both must agree: status, gas, output and logs."""
    logs = [(log["address"], log["topics"], log["data"]) for log in call["logs"]]
    return call["status"], call["gasUsed"], call["returnData"], logs, "error" in call


@pytest.mark.parametrize("name", SAME)
def test_simulated_blocks_equal_those_of_anvil(both: AnvilReplay, name: str) -> None:
    blocks, options = SAME[name]
    params = {"blockStateCalls": blocks, **options}, hex(both.replayed_head)
    ours, theirs = (rpc("eth_simulateV1", *params) for rpc in (both.node.rpc, both.peer.rpc))
    ours = [block for block in ours if block["calls"]]
    assert [[ended(call) for call in block["calls"]] for block in ours] == [
        [ended(call) for call in block["calls"]] for block in theirs
    ]
    assert [block["gasUsed"] for block in ours] == [block["gasUsed"] for block in theirs]
