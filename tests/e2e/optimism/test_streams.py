"""Subscribers of a node under a driver are notified when the driver makes a block the head."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_utils import to_checksum_address
from websockets.sync.client import ClientConnection, connect

from live import DEV_ACCOUNTS, wait_for
from live.sending import signed
from optimism import Driver, OptimismNode, optimism_node
from optimism.workload import LOG_CONTRACT, workload_genesis

SECONDS = 20.0


@pytest.fixture
def node(tmp_path: Path) -> Iterator[OptimismNode]:
    with optimism_node(tmp_path / "node", workload_genesis()) as node:
        yield node


@contextlib.contextmanager
def subscribed(node: OptimismNode, kind: str) -> Iterator[ClientConnection]:
    with connect(node.url.replace("http", "ws", 1), max_size=None) as connection:
        connection.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [kind]}))
        assert "result" in json.loads(connection.recv(SECONDS))
        yield connection


def notifications(connection: ClientConnection, seconds: float) -> list[dict[str, Any]]:
    """Return the first notification, or none if there is none in time."""
    try:
        return [json.loads(connection.recv(seconds))["params"]["result"]]
    except TimeoutError:
        return []


@pytest.mark.parametrize("kind", ["newHeads", "logs"])
def test_new_head_is_announced_without_a_next_block(node: OptimismNode, kind: str) -> None:
    driver = Driver(node.engine)
    driver.start()
    driver.begin()
    raw = signed(DEV_ACCOUNTS[0], 0, to=to_checksum_address(LOG_CONTRACT), gas=60_000)
    sent = node.rpc("eth_sendRawTransaction", raw)
    wait_for(lambda: node.rpc("eth_getTransactionReceipt", sent), SECONDS, "receipt")
    with subscribed(node, kind) as connection:
        block = driver.seal()["blockHash"]
        assert node.rpc("eth_blockNumber") == "0x1"
        [found] = notifications(connection, 3.0)
        assert found["hash" if kind == "newHeads" else "blockHash"] == block


def test_new_heads_does_not_announce_an_older_head(node: OptimismNode) -> None:
    driver = Driver(node.engine)
    driver.start()
    with subscribed(node, "newHeads") as connection:
        driver.begin()
        assert notifications(connection, 1.0) == []


def test_head_that_goes_back_does_not_repeat_its_parent(node: OptimismNode) -> None:
    driver = Driver(node.engine)
    driver.start()
    for _ in range(2):
        driver.begin()
        driver.seal()
    with subscribed(node, "newHeads") as connection:
        driver.go_back()
        opened = driver.begin()
        assert opened.parent.number == 1
        numbers = [int(found["number"], 16) for found in notifications(connection, 1.0)]
        assert numbers == []
