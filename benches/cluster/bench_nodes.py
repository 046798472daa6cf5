"""Processes under measurement: etcd members and nodes on loopback, on a chain with many funded accounts."""

import contextlib
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foreseal.cluster.etcd import EtcdCluster, find_etcd
from foreseal.cluster.launched_process import wait_until
from foreseal.cluster.local_cluster import write_chain_files
from foreseal.cluster.node_process import ChainFiles, NodeProcess, NodeRole, SequencerRole
from foreseal.errors import NodeError
from transfer_accounts import funded_genesis

PROGRAM = (sys.executable, "-m", "foreseal")
READY_TIMEOUT = 120.0
# Above the number of connections of a measurement, so that no limit affects it.
_CONNECTIONS = "10000"
_LIMITS = ("--max-connections", _CONNECTIONS, "--max-address-connections", _CONNECTIONS)
_METRICS_TIMEOUT = 10.0


@dataclass
class BenchNodes:
    """Nodes below one folder. Processes are stopped in reverse order of their start."""

    folder: Path
    etcd: EtcdCluster
    options: Sequence[str] = ()
    """Options of every node."""
    files: ChainFiles = field(init=False)
    started: list[NodeProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Write the files of the chain."""
        self.files = write_chain_files(self.folder, funded_genesis())

    def sequencer(
        self, name: str, *, standby: bool = False, options: Sequence[str] = (), prefix: str = "foreseal"
    ) -> NodeProcess:
        """Describe a sequencer with the quorum journal below a prefix of the engine."""
        role = SequencerRole(self.etcd.journal_url(prefix), standby, force_journal=self.etcd.needs_force)
        return self.node(name, role, options)

    def local(self, name: str, options: Sequence[str] = ()) -> NodeProcess:
        """Describe a sequencer with a local journal, which other nodes can follow."""
        return self.node(name, SequencerRole(None, standby=False), options)

    def node(self, name: str, role: NodeRole, options: Sequence[str] = ()) -> NodeProcess:
        """Describe a node with any role."""
        every = (*_LIMITS, *self.options, *options)
        return NodeProcess(name, role, self.files, self.folder / name, PROGRAM, every)

    def start(self, *nodes: NodeProcess, timeout: float = READY_TIMEOUT) -> None:
        """Start nodes one after the other, each when the one before is ready. Raises NodeError."""
        for node in nodes:
            node.start()
            self.started.append(node)
            wait_until(node.is_ready, [node], timeout)

    def stop(self) -> None:
        """Stop all nodes and members. Replicas stop first, so that no leader hands over to a stopping standby."""
        for node in self.started[::-1]:
            node.stop()
        self.etcd.stop()


@contextlib.contextmanager
def bench_nodes(program: str | None, options: Sequence[str] = ()) -> Iterator[BenchNodes]:
    """Run three etcd members, and the nodes that the context starts, in a temporary folder.

    `program` is that of etcd, by default `etcd` on the PATH. Exits with a message if it is not installed.
    """
    etcd = find_etcd(program)
    if etcd is None:
        sys.exit(f"{program or 'etcd'} is not installed: name the program with --etcd")
    with tempfile.TemporaryDirectory(prefix="foreseal-bench-", ignore_cleanup_errors=True) as name:
        nodes = BenchNodes(Path(name), EtcdCluster(Path(name), etcd), options)
        try:
            nodes.etcd.start()
            yield nodes
        finally:
            nodes.stop()


def metrics_page(node: NodeProcess) -> str:
    """Return the metrics of a node. Raises NodeError if it does not answer."""
    try:
        with urllib.request.urlopen(f"{node.url}/metrics", timeout=_METRICS_TIMEOUT) as answer:
            return str(answer.read().decode())
    except OSError as error:
        raise NodeError("metrics", f"{node.name}: {error}") from None
