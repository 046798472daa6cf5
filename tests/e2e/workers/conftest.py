"""One node for each module."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.node import WorkersNode, workers_node

WORKERS = int(os.environ.get("FORESEAL_WORKERS_TESTED", "2"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersNode]:
    """Run a node with workers, by default two."""
    folder: Path = tmp_path_factory.mktemp("workers") / "data"
    with workers_node(folder, WORKERS) as node:
        yield node
