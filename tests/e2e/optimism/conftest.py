"""A node of an OP chain whose driver is the test."""

from collections.abc import Iterator

import pytest

from optimism import OptimismNode, op_genesis, optimism_node


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OptimismNode]:
    """Run a node of an OP chain, with an admin listener, for one module; it must stop with exit code 0."""
    folder = tmp_path_factory.mktemp("driven")
    with optimism_node(folder, op_genesis(), "--admin", "127.0.0.1:0") as node:
        yield node
