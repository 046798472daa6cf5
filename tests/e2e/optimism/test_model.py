"""Random blocks of deposits and transactions, built by a node and compared with the slow model of the specification.

Examples begin again at the genesis, so they can be repeated, and the driver reorganizes the chain each time.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from live import RpcFailure
from optimism import Fork, optimism_node
from optimism.model.attributes import L1AttributesCall
from optimism.model.chain import ModelChain
from optimism.model.comparison import BlockComparison
from optimism.model.execution import worst_case_cost
from optimism.model.plans import (
    BLOCKS,
    CHAINS,
    FRESH,
    KEYS,
    L1_CALLS,
    POOR,
    POOR_KEY,
    SENDERS,
    BlockPlan,
    GasChoice,
    MessagePlan,
    genesis_with_programs,
    message_plans,
)
from optimism.model.transactions import SignedFields
from optimism.predeploys import SEQUENCER_FEE_VAULT
from optimism.recordings import recorded_genesis

# Each example is up to three blocks on a real node.
EXAMPLES = settings().max_examples // 4
# The model computes every root from the whole state, which grows with a chain.
MAX_GROWTH = 200
# The pool rejects a transaction whose footprint by the attributes of the head exceeds its gas limit. At this scalar,
# each transaction of a plan (up to about 4,500 bytes) fits into the smallest gas limit of a plan, 30,000,000.
MAX_POOL_SCALAR = 5000
INVALID_ATTRIBUTES = -38003
SLOW = (HealthCheck.data_too_large, HealthCheck.too_slow)
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
    key=KEYS[0],
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


@pytest.fixture(scope="module", params=Fork)
def fork(request: pytest.FixtureRequest) -> Fork:
    """Return each newest fork."""
    name: Fork = request.param
    return name


@pytest.fixture(scope="module")
def comparison(fork: Fork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockComparison]:
    """Return nodes and model of a chain whose examples begin at the genesis."""
    with compared_nodes(fork, tmp_path_factory.mktemp(fork)) as block_comparison:
        yield block_comparison


@contextmanager
def compared_nodes(fork: Fork, folder: Path) -> Iterator[BlockComparison]:
    """Run a builder and a verifier of a chain with the recorded predeploys."""
    genesis = genesis_with_programs(recorded_genesis(fork))
    with optimism_node(folder / "builder", genesis) as builder, optimism_node(folder / "verifier", genesis) as verifier:
        chain = ModelChain(genesis)
        yield BlockComparison(builder.engine, verifier.engine, builder.rpc, chain, fork.get_payload)


class GrowingChain:
    """A chain that each example extends: a reorganization would return transactions to the pool."""

    def __init__(self, comparison: BlockComparison) -> None:
        self.comparison = comparison
        self.head = comparison.chain.genesis


@pytest.fixture(scope="module")
def growing(fork: Fork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrowingChain]:
    """Return a chain with separate nodes."""
    with compared_nodes(fork, tmp_path_factory.mktemp(f"{fork}-growing")) as block_comparison:
        yield GrowingChain(block_comparison)


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


@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(CHAINS)
def test_random_blocks_equal_the_models(comparison: BlockComparison, plans: list[BlockPlan]) -> None:
    head = comparison.chain.genesis
    for plan in plans:
        head = comparison.extend(head, comparison.plan(plan, head))


def test_large_transaction_is_estimated_by_level_one(comparison: BlockComparison) -> None:
    # The reference program would use another level from 65,536 bytes on.
    rng = random.Random(7)
    words = [rng.randbytes(40) for _ in range(600)]
    data = b"".join(rng.choice(words) for _ in range(1750))
    head = comparison.chain.genesis
    block = comparison.extend(head, comparison.plan(block_of(TRANSFER._replace(data=data)), head))
    assert len(block.transactions[1]) > 1 << 16
    assert 10_000 < block.header.blob_gas_used // L1.da_footprint_scalar < 60_000


@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(L1_CALLS, message_plans(signed=True))
def test_sender_needs_exactly_the_worst_case_cost(
    comparison: BlockComparison, l1: L1AttributesCall, message: MessagePlan
) -> None:
    head = comparison.chain.genesis
    mint = TRANSFER._replace(key=None, sender=POOR, target=POOR, value=0)
    spent = message._replace(key=POOR_KEY, sender=POOR)
    raw = comparison.plan(block_of(mint, spent, l1=l1), head).transactions[2]
    fields = SignedFields.decode(raw)
    cost = worst_case_cost(raw, fields, l1)
    short, exact = (comparison.plan(block_of(mint._replace(mint=wei), spent, l1=l1), head) for wei in (cost - 1, cost))
    assert short.transactions[2] == exact.transactions[2] == raw
    with pytest.raises(RpcFailure) as error:
        comparison.begin(head, short)
    assert error.value.code == INVALID_ATTRIBUTES
    comparison.extend(head, exact)


def test_block_above_the_footprint_limit_is_invalid(comparison: BlockComparison) -> None:
    l1 = L1._replace(da_footprint_scalar=50_000)
    data = random.Random(8).randbytes(300)
    head = comparison.chain.genesis
    # Each transfer has 50,000 gas of footprint for each of about 250 estimated bytes.
    below = comparison.plan(block_of(*[TRANSFER._replace(data=data)] * 3, l1=l1), head)
    accepted = comparison.extend(head, below)
    used = accepted.header.blob_gas_used
    assert 30_000_000 < used < 60_000_000
    exact, above = (below._replace(attributes=below.attributes._replace(gas_limit=limit)) for limit in (used, used - 1))
    gas = [done.gas_used for done in accepted.executions]
    block, invalid = (
        comparison.chain.build(head, planned.attributes, planned.transactions, gas) for planned in (exact, above)
    )
    assert comparison.verify(block)["status"] == "VALID"
    assert comparison.extend(head, exact).header == block.header
    assert comparison.verify(invalid)["status"] == "INVALID"
    with pytest.raises(RpcFailure) as error:
        comparison.begin(head, above)
    assert error.value.code == INVALID_ATTRIBUTES


def test_footprint_scalar_of_zero_means_no_footprint(comparison: BlockComparison) -> None:
    head = comparison.chain.genesis
    planned = comparison.plan(block_of(TRANSFER, l1=L1._replace(da_footprint_scalar=0)), head)
    assert comparison.extend(head, planned).header.blob_gas_used == 0


@settings(max_examples=min(EXAMPLES, MAX_GROWTH), suppress_health_check=SLOW, phases=[Phase.explicit, Phase.generate])
@given(BLOCKS)
def test_random_blocks_from_the_pool_equal_the_models(growing: GrowingChain, plan: BlockPlan) -> None:
    # Deposits of a signer would change its nonces.
    messages = tuple(each for each in plan.messages if each.key or each.sender not in SENDERS)
    l1 = plan.l1._replace(da_footprint_scalar=min(plan.l1.da_footprint_scalar, MAX_POOL_SCALAR))
    planned = growing.comparison.plan(plan._replace(l1=l1, messages=messages), growing.head)
    growing.head = growing.comparison.extend_from_pool(growing.head, planned)
