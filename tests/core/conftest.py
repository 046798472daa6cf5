"""Nodes for tests, stopped when the test ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foreseal._core import Node
from live_node import settings, wait_until


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Opens nodes on one data directory; unless `start` is false, starts them and waits until they are ready."""
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
    """A development node that produces."""
    return make_node()
