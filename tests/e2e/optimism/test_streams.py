"""Subscribers of a node under a driver are notified when the driver makes a block the head."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_utils import to_checksum_address
from websockets.sync.client import ClientConnection, connect

from live import DEV_ACCOUNTS
from live.sending import signed
from optimism import Driver, OptimismNode, optimism_node
from optimism.pending import wait_for_receipt
from optimism.workload import LOG_CONTRACT, workload_genesis

SECONDS = 20.0


@pytest.fixture
def node(tmp_path: Path) -> Iterator[OptimismNode]:
    """Run a node with a contract that logs."""
    with optimism_node(tmp_path / "node", workload_genesis()) as node:
        yield node


@contextlib.contextmanager
def subscribed(node: OptimismNode, kind: str) -> Iterator[ClientConnection]:
    """Subscribe to events of this kind over WebSocket."""
    with connect(node.url.replace("http", "ws", 1), max_size=None) as connection:
        connection.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [kind]}))
        assert "result" in json.loads(connection.recv(SECONDS))
        yield connection


def next_notification(connection: ClientConnection) -> dict[str, Any]:
    notification: dict[str, Any] = json.loads(connection.recv(SECONDS))["params"]["result"]
    return notification


@pytest.mark.parametrize(("kind", "field"), [("newHeads", "hash"), ("logs", "blockHash")])
def test_new_head_is_announced_without_a_next_block(node: OptimismNode, kind: str, field: str) -> None:
    driver = Driver(node.engine)
    driver.start()
    driver.begin()
    raw = signed(DEV_ACCOUNTS[0], 0, to=to_checksum_address(LOG_CONTRACT), gas=60_000)
    wait_for_receipt(node.rpc, node.rpc("eth_sendRawTransaction", raw))
    with subscribed(node, kind) as connection:
        block = driver.seal()["blockHash"]
        assert node.rpc("eth_blockNumber") == "0x1"
        assert next_notification(connection)[field] == block


def test_begin_of_a_payload_does_not_announce_its_parent(node: OptimismNode) -> None:
    driver = Driver(node.engine)
    driver.start()
    with subscribed(node, "newHeads") as connection:
        driver.begin()
        assert driver.seal()["blockHash"] == next_notification(connection)["hash"]


def test_head_that_goes_back_is_not_announced_again(node: OptimismNode) -> None:
    driver = Driver(node.engine)
    driver.start()
    for _ in range(2):
        driver.begin()
        driver.seal()
    with subscribed(node, "newHeads") as connection:
        driver.go_back()
        assert driver.begin().parent.number == 1
        block = driver.seal()
        notification = next_notification(connection)
        assert (notification["number"], notification["hash"]) == ("0x2", block["blockHash"])
