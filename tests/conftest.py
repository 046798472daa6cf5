"""Fixtures that the tests with a real node share."""

import signal
from collections.abc import Iterator

import pytest

from live import LiveNode, Rpc, live_node

# A project of its own, which test_example_project.py runs.
collect_ignore = ["example_project"]

# A shell that starts this in the background lets it ignore SIGINT, and every command under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    """A development node with fast steps, for one module; it must stop with exit code 0."""
    with live_node() as node:
        yield node


@pytest.fixture(scope="module")
def rpc(node: LiveNode) -> Rpc:
    """Raw JSON-RPC to that node."""
    return node.rpc
