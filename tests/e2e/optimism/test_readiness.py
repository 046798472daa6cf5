"""Readiness of a node whose driver is silent."""

from functools import partial
from pathlib import Path

from live import wait_for
from live.process import is_ok
from optimism import OptimismNode, op_genesis, optimism_node
from optimism.block_client import next_attributes

# The limit is the time of three blocks.
BLOCK_TIME = ("--block-time", "1s")
SECONDS = 30.0


def is_ready_after_a_block(node: OptimismNode) -> bool:
    """Build a block, and return True if the node is ready before the silence since then is too long."""
    node.engine.build()
    return is_ok(f"{node.url}/readyz")


def wait_until_red(node: OptimismNode) -> str:
    """Wait until the node is not ready, and return the reason."""

    def reason() -> str | None:
        answer = node.rpc.request("GET", "/readyz")
        return None if answer.status == 200 else answer.body.decode()

    return wait_for(reason, SECONDS, "red readiness")


def test_silence_of_the_driver_without_a_payload_is_red(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(), *BLOCK_TIME) as node:
        for _ in range(2):
            wait_for(partial(is_ready_after_a_block, node), SECONDS, "readiness after a block")
            assert "last call of the driver" in wait_until_red(node)


def test_silence_of_the_driver_with_an_open_payload_is_red(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(), *BLOCK_TIME) as node:
        parent = node.engine.block("latest")
        node.engine.begin_payload(parent["hash"], next_attributes(parent, noTxPool=False))
        assert "last call of the driver" in wait_until_red(node)
