"""Nodes for tests, stopped when the test ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foreseal._core import Node
from live_node import settings, wait_until


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Provide a factory of nodes on one data directory.

    It starts each node and waits until it is ready, unless `start` is false.
    """
    nodes: list[Node] = []

    def make(start: bool = True, **changes: Any) -> Node:
        node = Node(settings(tmp_path / "data", **changes))
        nodes.append(node)
        if start:
            node.start()
            wait_until(lambda: node.ready()[0])
        return node

    yield make
    for node in nodes:
        node.stop()


@pytest.fixture
def node(make_node: Callable[..., Node]) -> Node:
    """Return a development node that produces blocks."""
    return make_node()
