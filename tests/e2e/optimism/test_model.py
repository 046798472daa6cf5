"""Random blocks of deposits and transactions: a node builds what the slow model of the specification expects.

Every example begins again at the genesis, so it can be repeated, and the driver reorganises the chain each time.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from live_node import shared
from optimism import optimism_node
from optimism.model.chain import ModelChain
from optimism.model.comparison import BlockComparison
from optimism.model.plans import CHAINS, BlockPlan, genesis_with_programs, plan_on

FORKS = {"jovian": "engine_getPayloadV4", "karst": "engine_getPayloadV5"}
CHAIN_ID = 901
# Each example is up to three blocks on a real node.
EXAMPLES = settings().max_examples // 2


@pytest.fixture(scope="module", params=FORKS)
def comparison(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockComparison]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    genesis = genesis_with_programs(json.loads((shared("optimism") / f"genesis-{request.param}.json").read_text()))
    with optimism_node(folder / "node", genesis) as node:
        yield BlockComparison(node.engine, node.rpc, ModelChain(genesis), FORKS[request.param])


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])
@given(CHAINS)
def test_random_blocks_equal_the_models(comparison: BlockComparison, plans: list[BlockPlan]) -> None:
    head = comparison.chain.genesis
    for plan in plans:
        head = comparison.extend(head, plan_on(plan, head, CHAIN_ID))
