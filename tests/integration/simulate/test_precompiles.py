"""Precompiled contracts that are moved or replaced."""

from hashlib import sha256

import pytest

from foreseal.testing import Chain
from simulate_calls import ALICE, CODE, ECHOES, OTHER_CODE, bytes32, one, returns, simulate

SHA256 = "0x0000000000000000000000000000000000000002"
IDENTITY = "0x0000000000000000000000000000000000000004"
INPUT = "0xc0ffee"
HASHED = "0x" + sha256(bytes.fromhex("c0ffee")).hexdigest()


def ask(chain: Chain, to: str, overrides: dict[str, object]) -> str:
    return str(one(chain, {"from": ALICE, "to": to, "input": INPUT}, stateOverrides=overrides)["returnData"])


def test_it_answers_where_it_was_moved_to_and_no_longer_where_it_was(chain: Chain) -> None:
    moved = {SHA256: {"movePrecompileToAddress": CODE}}
    assert ask(chain, SHA256, {}) == HASHED
    assert (ask(chain, CODE, moved), ask(chain, SHA256, moved)) == (HASHED, "0x")


def test_code_may_take_its_place(chain: Chain) -> None:
    moved = {SHA256: {"movePrecompileToAddress": CODE, "code": ECHOES}}
    assert (ask(chain, CODE, moved), ask(chain, SHA256, moved)) == (HASHED, INPUT)
    assert ask(chain, SHA256, {SHA256: {"code": ECHOES}}) == INPUT


@pytest.mark.parametrize("overrides", [{"balance": "0x1"}, {}])
def test_any_override_puts_an_ordinary_account_there(chain: Chain, overrides: dict[str, str]) -> None:
    assert ask(chain, SHA256, {SHA256: overrides}) == "0x"


def test_the_one_of_the_higher_address_answers_where_two_were_moved(chain: Chain) -> None:
    moved = {SHA256: {"movePrecompileToAddress": CODE}, IDENTITY: {"movePrecompileToAddress": CODE}}
    assert ask(chain, CODE, moved) == INPUT


def test_a_contract_calls_it_where_it_is(chain: Chain) -> None:
    """The contract calls it with empty input and returns the resulting word."""
    calls = returns(f"60205f5f5f5f73{OTHER_CODE[2:]}5af1505f51")
    overrides = {CODE: {"code": calls}, SHA256: {"movePrecompileToAddress": OTHER_CODE}}
    assert ask(chain, CODE, overrides) == "0x" + sha256().hexdigest()


def test_a_move_holds_for_its_block(chain: Chain) -> None:
    call = {"from": ALICE, "to": SHA256, "input": INPUT}
    moved = {"stateOverrides": {SHA256: {"movePrecompileToAddress": CODE}}, "calls": [call]}
    first, second = simulate(chain, moved, {"calls": [call]})
    assert first["calls"][0]["returnData"] == "0x"
    assert second["calls"][0]["returnData"] == HASHED


def test_the_code_of_its_place_is_what_is_set(chain: Chain) -> None:
    size = returns(f"73{SHA256[2:]}3b")
    assert ask(chain, CODE, {CODE: {"code": size}}) == bytes32(0)
    assert ask(chain, CODE, {CODE: {"code": size}, SHA256: {"code": "0x0000"}}) == bytes32(2)
