"""Fixtures of the x402 tests; one node for all of them in a process."""

from collections.abc import Iterator

import pytest

from payments.x402.buyers import Buyers
from payments.x402.world import World
from payments.x402.world import world as made


@pytest.fixture
def buyers(url: str) -> Iterator[Buyers]:
    """Provide a factory of buyers on one database."""
    made = Buyers(url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def node_of_x402(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with made(tmp_path_factory.mktemp("x402")) as x402_world:
        yield x402_world


@pytest.fixture
def world(node_of_x402: World) -> Iterator[World]:
    """Provide the node; its changes persist, and resources opened on it are closed."""
    yield node_of_x402
    node_of_x402.close()
