"""Readiness of a node whose driver is silent."""

from pathlib import Path

from live import wait_for
from live.process import is_ok
from optimism import Driver, OptimismNode, optimism_node
from optimism.workload import workload_genesis

SECONDS = 8.0
BLOCK_TIME = ("--block-time", "1s")


def wait_until_red(node: OptimismNode) -> None:
    wait_for(lambda: not is_ok(node.url + "/readyz"), SECONDS, "red readiness")


def test_silence_of_the_driver_without_a_payload_is_red(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", workload_genesis(), *BLOCK_TIME) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        driver.seal()
        assert is_ok(node.url + "/readyz")
        wait_until_red(node)
        driver.begin()
        assert is_ok(node.url + "/readyz")


def test_silence_of_the_driver_with_an_open_payload_is_red(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", workload_genesis(), *BLOCK_TIME) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        wait_until_red(node)
