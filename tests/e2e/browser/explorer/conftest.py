"""Fixtures of the flows of the explorer."""

from collections.abc import Iterator

import pytest

from browser import Chromium
from browser.explorer import EXPLORER_OPTIONS, Explorer, ExplorerChain
from live import LiveNode, live_node
from live.contracts import contract


@pytest.fixture(scope="module")
def node(chromium: Chromium) -> Iterator[LiveNode]:
    """Run a development node with steps of 200 ms; not started without a browser."""
    with live_node(*EXPLORER_OPTIONS) as node:
        yield node


@pytest.fixture(scope="module")
def explorer(chromium: Chromium, node: LiveNode) -> Explorer:
    """Return the explorer of the node."""
    return Explorer(chromium, node.url)


@pytest.fixture(scope="module")
def chain(node: LiveNode) -> ExplorerChain:
    """Return a sender of transactions."""
    return ExplorerChain(node)


@pytest.fixture(scope="module")
def token(chain: ExplorerChain) -> str:
    """Deploy an ERC-20 token."""
    return chain.deploy(contract("Token"), 10**12)
