"""A fork choice that leaves more blocks than a node stores outside its chain."""

from pathlib import Path

import pytest

from optimism import op_genesis, optimism_node
from optimism.block_client import next_attributes

# Blocks outside the chain that a node stores: `MAX_BRANCH_BLOCKS` of the core.
MAX_BRANCH_BLOCKS = 64


@pytest.mark.parametrize("depth", [MAX_BRANCH_BLOCKS - 1, MAX_BRANCH_BLOCKS + 1])
def test_block_of_a_branch_becomes_the_head_after_any_depth(depth: int, tmp_path: Path) -> None:
    with (
        optimism_node(tmp_path / "node", op_genesis()) as node,
        optimism_node(tmp_path / "other", op_genesis()) as other,
    ):
        attributes = next_attributes(other.engine.block("latest"), prevRandao="0x" + "33" * 32)
        branch = other.engine.build(attributes)
        left = [node.engine.build() for _ in range(depth)]
        assert left[0]["executionPayload"]["parentHash"] == branch["executionPayload"]["parentHash"]
        assert node.engine.submit(branch)["status"] == "VALID"
        node.engine.choose_head(branch["executionPayload"]["blockHash"])
        newest = other.rpc("eth_getBlockByNumber", "latest", True)
        assert newest["hash"] == branch["executionPayload"]["blockHash"]
        assert node.rpc("eth_getBlockByNumber", "latest", True) == newest
        # The chain continues from there.
        assert node.engine.build()["executionPayload"]["parentHash"] == newest["hash"]
