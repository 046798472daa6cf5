"""A whole cluster on loopback: etcd members, leader, standby and replicas, each with its own folder."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foreseal.cluster.etcd import EtcdCluster
from foreseal.cluster.launched_process import LaunchedProcess, stop_processes, wait_until
from foreseal.cluster.node_process import ChainFiles, NodeProcess, NodeRole, ReplicaRole, SequencerRole

READY_TIMEOUT = 60.0
_PRIVATE = 0o600

ProcessCallback = Callable[[LaunchedProcess], None]


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """Numbers of processes of a local cluster, and how to start a node."""

    program: Sequence[str]
    """The command `foreseal`."""
    standbys: int = 1
    replicas: int = 2
    options: Sequence[str] = ()
    """Options of every node process."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of every node process, in addition to those of this process."""


class LocalCluster:
    """Processes below one folder. A second start on the same folder continues the chain."""

    def __init__(self, folder: Path, etcd: EtcdCluster, genesis: bytes, layout: ClusterLayout) -> None:
        """Describe the cluster and write its files; `start` starts it. Raises OSError."""
        self.folder = folder
        self.etcd = etcd
        self.files = write_chain_files(folder, genesis)
        journal = etcd.journal_url()
        names = ["leader", *(f"standby-{number}" for number in range(1, layout.standbys + 1))]
        roles = {name: SequencerRole(journal, name != "leader", force_journal=etcd.needs_force) for name in names}
        feeds = [role.feed_address for role in roles.values()]
        self.sequencers = [self._describe(name, role, folder, layout) for name, role in roles.items()]
        self.replicas = [
            self._describe(f"replica-{number}", ReplicaRole(feeds), folder, layout)
            for number in range(1, layout.replicas + 1)
        ]

    @property
    def nodes(self) -> list[NodeProcess]:
        """All node processes, the leader first."""
        return [*self.sequencers, *self.replicas]

    @property
    def processes(self) -> list[LaunchedProcess]:
        """All processes in the order of their start."""
        return [*self.etcd.members, *self.nodes]

    def start(self, timeout: float = READY_TIMEOUT) -> None:
        """Start all processes and wait until each is ready. Raises NodeError."""
        self.etcd.start()
        leader, *others = self.nodes
        # The leader owns the journal before a standby waits for its silence.
        leader.start()
        wait_until(leader.is_ready, [leader], timeout)
        for node in others:
            node.start()
        wait_until(lambda: all(node.is_ready() for node in others), others, timeout)

    def stop(self, on_stopped: ProcessCallback = lambda _: None) -> None:
        """Stop all processes and report each: standbys before the leader, which would hand over to one of them."""
        groups: list[Sequence[LaunchedProcess]] = [self.replicas]
        groups += [[sequencer] for sequencer in reversed(self.sequencers)]
        for group in (*groups, self.etcd.members):
            stop_processes(group, on_stopped)

    def _describe(self, name: str, role: NodeRole, folder: Path, layout: ClusterLayout) -> NodeProcess:
        return NodeProcess(name, role, self.files, folder / name, layout.program, layout.options, layout.environment)


@contextlib.contextmanager
def running(cluster: LocalCluster, on_stopped: ProcessCallback = lambda _: None) -> Iterator[LocalCluster]:
    """Start a cluster, and stop it at the end, also after a failed start. Each stopped process is reported."""
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop(on_stopped)


def write_chain_files(folder: Path, genesis: bytes) -> ChainFiles:
    """Write genesis, a sequencer key and a token of followers to a folder, unless they exist. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files = ChainFiles(folder / "genesis.json", folder / "sequencer.key", folder / "feed.token")
    if not files.genesis.exists():
        files.genesis.write_bytes(genesis)
    for secret in (files.sequencer_key, files.token):
        if not secret.exists():
            secret.touch(_PRIVATE)
            secret.write_text(secrets.token_hex(32) + "\n")
    return files
