"""Precompiled contracts that are moved or replaced."""

from hashlib import sha256

import pytest

from foreseal.testing import Chain
from simulate_calls import ALICE, CODE, ECHOES, OTHER_CODE, bytes32, one, returns, simulate

SHA256 = "0x0000000000000000000000000000000000000002"
IDENTITY = "0x0000000000000000000000000000000000000004"
INPUT = "0xc0ffee"
HASHED = "0x" + sha256(bytes.fromhex("c0ffee")).hexdigest()


def execute(chain: Chain, to: str, overrides: dict[str, object]) -> str:
    return str(one(chain, {"from": ALICE, "to": to, "input": INPUT}, stateOverrides=overrides)["returnData"])


def test_moved_precompile_runs_only_at_its_new_address(chain: Chain) -> None:
    moved = {SHA256: {"movePrecompileToAddress": CODE}}
    assert execute(chain, SHA256, {}) == HASHED
    assert (execute(chain, CODE, moved), execute(chain, SHA256, moved)) == (HASHED, "0x")


def test_override_code_replaces_a_precompile(chain: Chain) -> None:
    moved = {SHA256: {"movePrecompileToAddress": CODE, "code": ECHOES}}
    assert (execute(chain, CODE, moved), execute(chain, SHA256, moved)) == (HASHED, INPUT)
    assert execute(chain, SHA256, {SHA256: {"code": ECHOES}}) == INPUT


@pytest.mark.parametrize("overrides", [{"balance": "0x1"}, {}])
def test_any_override_replaces_a_precompile_with_an_account(chain: Chain, overrides: dict[str, str]) -> None:
    assert execute(chain, SHA256, {SHA256: overrides}) == "0x"


def test_precompile_with_the_higher_address_wins_a_shared_target(chain: Chain) -> None:
    moved = {SHA256: {"movePrecompileToAddress": CODE}, IDENTITY: {"movePrecompileToAddress": CODE}}
    assert execute(chain, CODE, moved) == INPUT


def test_contract_calls_a_moved_precompile(chain: Chain) -> None:
    """The contract calls it with empty input and returns the resulting word."""
    calls = returns(f"60205f5f5f5f73{OTHER_CODE[2:]}5af1505f51")
    overrides = {CODE: {"code": calls}, SHA256: {"movePrecompileToAddress": OTHER_CODE}}
    assert execute(chain, CODE, overrides) == "0x" + sha256().hexdigest()


def test_moved_precompile_lasts_one_block(chain: Chain) -> None:
    call = {"from": ALICE, "to": SHA256, "input": INPUT}
    moved = {"stateOverrides": {SHA256: {"movePrecompileToAddress": CODE}}, "calls": [call]}
    first, second = simulate(chain, moved, {"calls": [call]})
    assert first["calls"][0]["returnData"] == "0x"
    assert second["calls"][0]["returnData"] == HASHED


def test_code_size_of_a_precompile_is_that_of_the_override(chain: Chain) -> None:
    size = returns(f"73{SHA256[2:]}3b")
    assert execute(chain, CODE, {CODE: {"code": size}}) == bytes32(0)
    assert execute(chain, CODE, {CODE: {"code": size}, SHA256: {"code": "0x0000"}}) == bytes32(2)
