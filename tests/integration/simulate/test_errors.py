"""Every error code that the execution API lists for `eth_simulateV1`, and the absence of side effects."""

from typing import Any

import pytest

from foreseal.testing import Chain
from simulate_calls import ALICE, BOB, CODE, NOBODY, REVERTS, error, one, simulate

PAY = {"from": ALICE, "to": BOB, "value": "0x1"}
VALID_FEE = {"maxFeePerGas": hex(10**10)}
VALID = VALID_FEE | {"gas": "0x5208"}
ECRECOVER = "0x0000000000000000000000000000000000000001"
SHA256 = "0x0000000000000000000000000000000000000002"


def calls(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"calls": list(given), **more}


# Code, blocks, options.
REFUSED: dict[str, tuple[int, list[dict[str, Any]], dict[str, Any]]] = {
    "nonce too low": (
        -38010,
        [calls(PAY | VALID, PAY | VALID | {"nonce": "0x0"})],
        {"validation": True},
    ),
    "nonce too high": (-38011, [calls(PAY | VALID | {"nonce": "0x1"})], {"validation": True}),
    "fee too low": (-38012, [calls(PAY | {"maxFeePerGas": "0x1", "gas": "0x5208"})], {"validation": True}),
    "fee below the base fee that is set": (
        -38012,
        [calls(PAY | {"maxFeePerGas": "0x9"}, blockOverrides={"baseFeePerGas": "0xa"})],
        {},
    ),
    "intrinsic gas": (-38013, [calls(PAY | {"gas": "0x5207"})], {}),
    "no funds": (-38014, [calls({"from": NOBODY, "to": BOB, "value": "0x1"})], {}),
    "no funds for the gas": (
        -38014,
        [calls({"from": NOBODY, "to": BOB, **VALID}, blockOverrides={"baseFeePerGas": "0x1"})],
        {"validation": True},
    ),
    "block gas": (-38015, [calls(PAY | {"gas": "0x5209"}, blockOverrides={"gasLimit": "0x5208"})], {}),
    "block gas by the second": (
        -38015,
        [calls(PAY | {"gas": "0x5208"}, PAY | {"gas": "0x5208"}, blockOverrides={"gasLimit": "0xa40f"})],
        {},
    ),
    "number not after the base": (-38020, [{"blockOverrides": {"number": "0x0"}}], {}),
    "number not after the one before": (
        -38020,
        [{"blockOverrides": {"number": "0x5"}}, {"blockOverrides": {"number": "0x5"}}],
        {},
    ),
    "time not after the base": (-38021, [{"blockOverrides": {"time": "0x0"}}], {}),
    "time not after the one before": (
        -38021,
        [{"blockOverrides": {"time": "0x70000000"}}, {"blockOverrides": {"time": "0x70000000"}}],
        {},
    ),
    "time not after that of the blocks between": (
        -38021,
        [{"blockOverrides": {"time": "0x70000000"}}, {"blockOverrides": {"number": "0x5", "time": "0x70000001"}}],
        {},
    ),
    "a precompile to itself": (-38022, [{"stateOverrides": {SHA256: {"movePrecompileToAddress": SHA256}}}], {}),
    "no precompile": (-32000, [{"stateOverrides": {NOBODY: {"movePrecompileToAddress": CODE}}}], {}),
    "where something else is set": (
        -32000,
        [{"stateOverrides": {SHA256: {"movePrecompileToAddress": CODE}, CODE: {"balance": "0x1"}}}],
        {},
    ),
    "long code of a creation": (
        -38025,
        [calls(VALID_FEE | {"from": ALICE, "input": "0x" + "00" * 49_153})],
        {"validation": True},
    ),
    "more blocks than are allowed": (-38026, [{}] * 257, {}),
    "a number too far on": (-38026, [{"blockOverrides": {"number": "0x101"}}], {}),
    "more calls in a block than are allowed": (-38026, [calls(*[{}] * 5_001)], {}),
    "more calls than are allowed": (-38026, [calls(*[{}] * 5_000), calls(*[{}] * 5_000), calls({})], {}),
    "no blocks": (-32602, [], {}),
    "another chain": (-32602, [calls({"chainId": "0x1"})], {}),
    "both kinds of fee": (-32602, [calls({"gasPrice": "0x1", "maxFeePerGas": "0x1"})], {}),
    "both kinds of storage": (-32602, [{"stateOverrides": {CODE: {"state": {}, "stateDiff": {}}}}], {}),
    "a tip above the fee": (
        -32602,
        [calls(PAY | VALID | {"maxPriorityFeePerGas": hex(10**10 + 1)})],
        {"validation": True},
    ),
    "blobs without a receiver": (
        -32000,
        [calls({"from": ALICE, "blobVersionedHashes": ["0x01" + "00" * 31], "maxFeePerBlobGas": "0x1"})],
        {},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_simulation_has_its_error_code(chain: Chain, name: str) -> None:
    code, blocks, options = REFUSED[name]
    assert error(chain, *blocks, **options).code == code


def test_input_at_a_limit_is_simulated(chain: Chain) -> None:
    assert len(simulate(chain, {"blockOverrides": {"number": "0x100"}})) == 256
    exactly = calls(PAY | {"gas": "0x5208"}, PAY | {"gas": "0x5208"}, blockOverrides={"gasLimit": "0xa410"})
    assert [call["status"] for call in simulate(chain, exactly)[0]["calls"]] == ["0x1", "0x1"]
    assert one(chain, {"from": ALICE, "input": "0x" + "00" * 49_152})["status"] == "0x1"


def test_error_reveals_no_earlier_simulation_results(chain: Chain) -> None:
    """A failure of the second block also discards the first one: partial results do not exist."""
    refused = error(chain, calls(PAY), calls({"from": NOBODY, "to": BOB, "value": "0x1"}))
    assert refused.code == -38014
    assert chain.rpc("eth_getTransactionCount", ALICE, "pending") == "0x0"


def test_revert_fails_only_its_call(chain: Chain) -> None:
    overrides = {CODE: {"code": "0x6001" + "5f55" + REVERTS}}
    (block,) = simulate(chain, calls(PAY, {"from": ALICE, "to": CODE}, PAY, stateOverrides=overrides))
    first, reverted, third = block["calls"]
    assert (first["status"], reverted["status"], third["status"]) == ("0x1", "0x0", "0x1")
    assert reverted["error"] == {"code": 3, "message": "execution reverted", "data": "0x"}
    assert (reverted["returnData"], reverted["logs"]) == ("0x", [])
    assert int(block["gasUsed"], 16) == sum(int(call["gasUsed"], 16) for call in block["calls"])


def test_a_halt_uses_all_gas_and_has_its_own_code(chain: Chain) -> None:
    failed = one(chain, {"from": ALICE, "to": CODE, "gas": "0x10000"}, stateOverrides={CODE: {"code": "0xfe"}})
    assert (failed["status"], failed["gasUsed"], failed["error"]["code"]) == ("0x0", "0x10000", -32015)
    assert failed["error"].keys() == {"code", "message"}


def test_a_sender_with_code_may_send(chain: Chain) -> None:
    """Contracts may be senders with validation as well, as recorded: -38024 has no case."""
    overrides = {CODE: {"code": "0x00", "balance": hex(10**18)}}
    for validation in (False, True):
        call = {"from": CODE, "to": BOB, "value": "0x1", **VALID}
        (block,) = simulate(chain, calls(call, stateOverrides=overrides), validation=validation)
        assert block["calls"][0]["status"] == "0x1"


def test_nonce_without_validation_is_free_and_continues(chain: Chain) -> None:
    (block,) = simulate(chain, calls(PAY | {"nonce": "0x7"}, PAY, PAY | {"nonce": "0x0"}), returnFullTransactions=True)
    assert [call["status"] for call in block["calls"]] == ["0x1"] * 3
    assert [one["nonce"] for one in block["transactions"]] == ["0x7", "0x1", "0x0"]


def test_nonce_restarts_after_its_maximum(chain: Chain) -> None:
    """Without validation the nonce wraps around, as in geth; with validation it is rejected, as recorded."""
    largest = {ALICE: {"nonce": hex(2**64 - 1)}}
    (block,) = simulate(chain, calls(PAY, PAY, stateOverrides=largest), returnFullTransactions=True)
    assert [call["status"] for call in block["calls"]] == ["0x1", "0x1"]
    assert [one["nonce"] for one in block["transactions"]] == [hex(2**64 - 1), "0x0"]
    named = PAY | {"nonce": hex(2**64 - 1)}
    assert one(chain, named)["status"] == "0x1"
    assert error(chain, calls(PAY | VALID, stateOverrides=largest), validation=True).code == -32603


def test_calls_share_the_gas_limit(chain: Chain) -> None:
    """The default is 50,000,000. The remaining gas bounds a call without a limit; burning it leaves too little."""
    burns = {CODE: {"code": "0x5b5f56"}}
    loop = {"from": ALICE, "to": CODE}
    (block,) = simulate(chain, calls(loop | {"gas": hex(49_970_000)}, PAY, stateOverrides=burns))
    assert [call["status"] for call in block["calls"]] == ["0x0", "0x1"]
    refused = error(chain, calls(loop | {"gas": hex(49_990_000)}, PAY, stateOverrides=burns))
    assert refused.code == -38026
