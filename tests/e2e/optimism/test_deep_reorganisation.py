"""A fork choice that leaves more blocks than the node keeps beside its chain."""

from pathlib import Path

import pytest

from live import DEV_ACCOUNTS
from live.sending import CHAIN_ID
from optimism import Driver, SimulatedL1, op_genesis, optimism_node

KEPT_BLOCKS = 64
"""Blocks beside the chain that a node keeps."""


@pytest.mark.parametrize(
    "left",
    [KEPT_BLOCKS - 1, KEPT_BLOCKS + 1],
)
def test_block_beside_the_chain_becomes_the_head_after_any_depth(left: int, tmp_path: Path) -> None:
    genesis = op_genesis(CHAIN_ID, [(DEV_ACCOUNTS[0].address, 10**24)])
    with optimism_node(tmp_path / "node", genesis) as node, optimism_node(tmp_path / "other", genesis) as other:
        l1 = SimulatedL1()
        l1.reorganize()
        elsewhere = Driver(other.engine, l1=l1)
        elsewhere.start()
        beacon_root = elsewhere.begin().attributes["parentBeaconBlockRoot"]
        block = elsewhere.seal()

        driver = Driver(node.engine)
        driver.start()
        for _ in range(left):
            driver.begin()
            driver.seal()
            # Nothing is final.
            driver.safe = driver.finalized = 0
        driver.import_payload(block, beacon_root)
        driver.chain = elsewhere.chain
        driver.choose_head()
        assert node.rpc("eth_getBlockByNumber", "latest", False)["hash"] == block["blockHash"]
