"""Random blocks of deposits and transactions: a node builds what the slow model of the specification expects.

Every example begins again at the genesis, so it can be repeated, and the driver reorganises the chain each time.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from live_node import shared
from optimism import optimism_node
from optimism.model.attributes import L1AttributesCall
from optimism.model.chain import ModelChain
from optimism.model.comparison import BlockComparison
from optimism.model.plans import (
    CHAINS,
    FRESH,
    SENDERS,
    SEQUENCER_FEE_VAULT,
    BlockPlan,
    GasChoice,
    MessagePlan,
    genesis_with_programs,
    plan_on,
)

FORKS = {"jovian": "engine_getPayloadV4", "karst": "engine_getPayloadV5"}
CHAIN_ID = 901
# Each example is up to three blocks on a real node.
EXAMPLES = settings().max_examples // 2


INVALID_ATTRIBUTES = -38003
L1 = L1AttributesCall(
    base_fee_scalar=1368,
    blob_base_fee_scalar=801_949,
    sequence_number=0,
    timestamp=1_800_000_000,
    number=100,
    base_fee=10**9,
    blob_base_fee=10**6,
    block_hash=bytes([0x11]) * 32,
    batcher_hash=bytes(32),
    operator_fee_scalar=100,
    operator_fee_constant=1000,
    da_footprint_scalar=400,
)
TRANSFER = MessagePlan(
    signer=0,
    sender=SENDERS[0],
    target=FRESH[0],
    mint=0,
    value=1,
    gas=GasChoice.PLENTY,
    data=b"",
    kind=2,
    tip=10**6,
    extra_fee=10**9,
    accessed=0,
)


@pytest.fixture(scope="module", params=FORKS)
def comparison(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockComparison]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    genesis = genesis_with_programs(json.loads((shared("optimism") / f"genesis-{request.param}.json").read_text()))
    with optimism_node(folder / "builder", genesis) as builder, optimism_node(folder / "verifier", genesis) as verifier:
        chain = ModelChain(genesis)
        yield BlockComparison(builder.engine, verifier.engine, builder.rpc, chain, FORKS[request.param])


def block_of(*messages: MessagePlan, l1: L1AttributesCall = L1, gas_limit: int = 60_000_000) -> BlockPlan:
    return BlockPlan(
        l1=l1,
        seconds=1,
        fee_recipient=SEQUENCER_FEE_VAULT,
        prev_randao=bytes([0x22]) * 32,
        beacon_root=bytes([0x33]) * 32,
        gas_limit=gas_limit,
        eip1559=None,
        min_base_fee=0,
        messages=messages,
    )


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])
@given(CHAINS)
def test_random_blocks_equal_the_models(comparison: BlockComparison, plans: list[BlockPlan]) -> None:
    head = comparison.chain.genesis
    for plan in plans:
        head = comparison.extend(head, plan_on(plan, head, CHAIN_ID))


def test_large_transaction_is_estimated_by_level_one(comparison: BlockComparison) -> None:
    # The reference program would use another level from 65,536 bytes on.
    rng = random.Random(7)
    words = [rng.randbytes(40) for _ in range(600)]
    data = b"".join(rng.choice(words) for _ in range(1750))
    head = comparison.chain.genesis
    block = comparison.extend(head, plan_on(block_of(TRANSFER._replace(data=data)), head, CHAIN_ID))
    assert len(block.transactions[1]) > 1 << 16
    assert 10_000 < block.header.blob_gas_used // L1.da_footprint_scalar < 60_000
