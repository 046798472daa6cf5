"""A node on the chain of the execution API's recorded exchanges."""

from collections.abc import Iterator

import pytest

from command import foreseal
from live import LiveNode
from live.process import foreseal_command
from live_node import shared


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveNode]:
    """Run `foreseal run --no-produce` on the recorded chain."""
    sample, datadir = shared("execution-apis"), tmp_path_factory.mktemp("recorded")
    done = foreseal("import", "--datadir", datadir, "--genesis", sample / "genesis.json", sample / "chain.rlp")
    assert done.returncode == 0, done.stderr
    node = LiveNode([foreseal_command(), "run", "--datadir", str(datadir), "--no-produce", "--port", "0"])
    yield node
    assert node.stop() == 0
