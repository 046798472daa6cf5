"""The import of a journal into the engine, before a node with a chain joins it."""

import subprocess
from collections.abc import Sequence

from foreseal.cluster.node_process import NodeProcess, SequencerRole

_TIMEOUT = 60.0


def import_journal(program: Sequence[str], node: NodeProcess) -> None:
    """Write the journal of a sequencer that has not started into its engine. Raises CalledProcessError."""
    assert isinstance(node.role, SequencerRole)
    assert node.role.journal is not None, "it has a quorum journal"
    command = [*program, "journal", "import", str(node.datadir), "--journal", node.role.journal, "--yes"]
    subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT)
