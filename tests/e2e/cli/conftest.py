"""Data directories for the commands."""

from pathlib import Path

import pytest

from live_node import produce


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with some blocks, without a running node."""
    datadir = tmp_path_factory.mktemp("original")
    produce(datadir, 3)
    return datadir
