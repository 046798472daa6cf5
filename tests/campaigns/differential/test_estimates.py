"""Estimates compared with the lowest gas that changes nothing, found by a search with `eth_call` and traces alone.

It covers random programs, creations, nested calls (EIP-150), refunds and access lists; `make properties` draws more.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from differential.chain import GAS_LIMIT, Filled, filled, genesis_of
from differential.features import ADDRESSES
from differential.lossless_gas import Run, is_lossless, run
from differential.workload import SENDERS, Feature, Workload, World
from foreseal.errors import RpcError

SEED = 1
BLOCKS = 5
"""Blocks of random transactions before the calls."""
TRANSFER_GAS = 21_000
# If a program reads the remaining gas as a value, more gas can be insufficient again. Blobs are slow.
LEFT_OUT = (Feature.GAS, Feature.BLOBS)


@pytest.fixture(scope="module")
def subject() -> Iterator[Filled]:
    world = World(SEED, LEFT_OUT)
    with filled(genesis_of(world), world, SEED) as subject:
        for _ in range(BLOCKS):
            subject.next_block()
        yield subject


def suffices(subject: Filled, call: dict[str, Any], gas: int) -> bool:
    try:
        subject.chain.rpc("eth_call", call | {"gas": hex(gas)}, "latest")
    except RpcError:
        return False
    return True


def least_gas(subject: Filled, call: dict[str, Any], highest: Run) -> int:
    """Find the exact minimum by bisection, given the run with a block's gas, which succeeded."""
    low, high = TRANSFER_GAS - 1, GAS_LIMIT
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(subject, call, middle) and is_lossless(subject.chain.rpc, call, middle, highest):
            high = middle
        else:
            low = middle
    return high


def estimate(subject: Filled, call: dict[str, Any]) -> int | None:
    try:
        return int(subject.chain.rpc("eth_estimateGas", call, "latest"), 16)
    except RpcError:
        return None


def is_transfer(subject: Filled, call: dict[str, Any]) -> bool:
    plain = call["data"] == "0x" and not call.get("accessList") and "to" in call
    return plain and subject.chain.rpc("eth_getCode", call["to"], "latest") == "0x"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**64))
def test_estimate_is_within_two_percent_of_the_smallest_sufficient_gas(subject: Filled, seed: int) -> None:
    world = World(SEED, LEFT_OUT)
    call = Workload(world, seed, lambda _: 0).call()
    gas = estimate(subject, call)
    assert (gas is not None) == suffices(subject, call, GAS_LIMIT)
    if gas is None:
        return
    highest = run(subject.chain.rpc, call, GAS_LIMIT)
    least = least_gas(subject, call, highest)
    assert suffices(subject, call, gas)
    if is_transfer(subject, call) and least == TRANSFER_GAS:
        assert gas == TRANSFER_GAS
    # A failed call may burn what it gets; the gas spent, before a refund of at most a fifth, is then the floor.
    floor = max(least, highest.gas_used * 5 // 4) if highest.failed_calls else least
    assert least <= gas <= floor * 1015 // 1000


def test_estimate_covers_the_gas_burned_by_a_failing_inner_call(subject: Filled) -> None:
    """An infinite loop uses 63/64 of any gas that it gets; its caller continues, so less gas would suffice."""
    words = int(ADDRESSES["looper"], 16).to_bytes(32, "big") + (10**18).to_bytes(32, "big")
    for kind in ("call", "delegatecall", "callcode"):
        call = {"from": SENDERS[0].address, "to": ADDRESSES[f"forward_{kind}"], "data": "0x" + words.hex()}
        gas, highest = estimate(subject, call), run(subject.chain.rpc, call, GAS_LIMIT)
        assert highest.succeeds
        assert highest.failed_calls == 1
        assert gas is not None
        assert highest.gas_used <= gas <= GAS_LIMIT
