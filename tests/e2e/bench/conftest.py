"""A development node, and the same node with benchmark content."""

from collections.abc import Iterator

import pytest

from bench_shape import SHAPE, quiet
from foreseal.bench.content_writer import Filled, Filling
from foreseal.bench.node import Node
from foreseal.bench.peers import KINDS, Started


@pytest.fixture(scope="module")
def started() -> Iterator[Started]:
    running = KINDS["foreseal"]()
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def node(started: Started) -> Node:
    assert started.node is not None
    return started.node


@pytest.fixture(scope="module")
def filled(node: Node) -> Filled:
    return Filling(node, SHAPE).fill(quiet)
