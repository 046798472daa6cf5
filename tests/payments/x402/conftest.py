"""Fixtures of x402's tests; one node for all of them in a process."""

from collections.abc import Iterator

import pytest

from payments.x402.buyers import Buyers
from payments.x402.world import World
from payments.x402.world import world as made


@pytest.fixture
def buyers(url: str) -> Iterator[Buyers]:
    """Makes buyers on one database."""
    made = Buyers(url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def node_of_x402(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with made(tmp_path_factory.mktemp("x402")) as found:
        yield found


@pytest.fixture
def world(node_of_x402: World) -> Iterator[World]:
    """The node; what is done on it stays, what is opened on it is closed."""
    yield node_of_x402
    node_of_x402.close()
