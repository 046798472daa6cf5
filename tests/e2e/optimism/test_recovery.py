"""Backups and lost data directories of a chain under a driver."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import foreseal
from optimism import OptimismNode, op_genesis, optimism_node


def catch_up(node: OptimismNode, answers: list[dict[str, Any]]) -> None:
    """Send all blocks of a driver, of which the node may have some, and make the newest one the head."""
    for answer in answers:
        assert node.engine.submit(answer)["status"] == "VALID"
    node.engine.choose_head(answers[-1]["executionPayload"]["blockHash"])


def test_restored_backup_catches_up_under_the_driver(tmp_path: Path) -> None:
    with optimism_node(tmp_path, op_genesis()) as node:
        answers = [node.engine.build() for _ in range(2)]
        copied = foreseal("backup", tmp_path / "data", tmp_path / "copy", "--with-key")
        assert copied.returncode == 0, copied.stderr
        answers += [node.engine.build() for _ in range(2)]
        newest = node.rpc("eth_getBlockByNumber", "latest", True)
    shutil.rmtree(tmp_path / "data")
    restored = foreseal("restore", tmp_path / "copy", tmp_path / "data")
    assert restored.returncode == 0, restored.stderr
    with optimism_node(tmp_path, None) as node:
        assert node.rpc("eth_blockNumber") == "0x2"
        catch_up(node, answers)
        assert node.rpc("eth_getBlockByNumber", "latest", True) == newest
        assert node.engine.build()["executionPayload"]["parentHash"] == newest["hash"]


def test_empty_data_directory_is_rebuilt_by_the_driver(tmp_path: Path) -> None:
    with optimism_node(tmp_path, op_genesis()) as node:
        answers = [node.engine.build() for _ in range(3)]
        newest = node.rpc("eth_getBlockByNumber", "latest", True)
    shutil.rmtree(tmp_path / "data")
    with optimism_node(tmp_path, tmp_path / "genesis.json") as node:
        catch_up(node, answers)
        assert node.rpc("eth_getBlockByNumber", "latest", True) == newest


@pytest.mark.parametrize("end", [OptimismNode.stop, OptimismNode.kill], ids=["stopped", "killed"])
def test_restarted_node_continues_under_the_driver(end: Callable[[OptimismNode], object], tmp_path: Path) -> None:
    node = OptimismNode(tmp_path, op_genesis())
    try:
        safe, head = (node.engine.build()["executionPayload"]["blockHash"] for _ in range(2))
        node.engine.choose_head(head, safe, safe)
    finally:
        end(node)
    with optimism_node(tmp_path, None) as restarted:
        assert [restarted.engine.block(tag)["hash"] for tag in ("latest", "safe", "finalized")] == [head, safe, safe]
        assert restarted.engine.build()["executionPayload"]["parentHash"] == head
