"""One node for each module."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.node import WorkersNode, workers_node
from workers.replica_node import replica_node

WORKERS = int(os.environ.get("FORESEAL_WORKERS_TESTED", "2"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersNode]:
    """Run a node with workers, by default two."""
    folder: Path = tmp_path_factory.mktemp("workers") / "data"
    with workers_node(folder, WORKERS) as node:
        yield node


@pytest.fixture(scope="module", params=["sequencer", "replica"])
def serving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersNode]:
    """Run workers of a sequencer, then workers of a replica whose leader has a quorum journal."""
    folder: Path = tmp_path_factory.mktemp("serving")
    run = workers_node if request.param == "sequencer" else replica_node
    with run(folder / "data", WORKERS) as node:
        yield node
