"""A replica with workers, of a leader with a quorum journal."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from etcd_programs import etcd_program
from foreseal.cluster.etcd import EtcdCluster
from foreseal.cluster.launched_process import wait_until
from foreseal.cluster.local_cluster import write_chain_files
from foreseal.cluster.node_process import NodeProcess, SequencerRole
from journal_import import import_journal
from live import Rpc
from live.process import FAST, foreseal_command
from workers.node import WorkersNode, make_chain, stopped_cleanly

_START_TIMEOUT = 60.0


class QuorumLeader:
    """A leader with three etcd members, on the chain of a development node."""

    def __init__(self, folder: Path) -> None:
        """Make its chain. Skips the test if etcd is not installed."""
        self.etcd = EtcdCluster(folder, etcd_program())
        datadir = folder / "leader" / "data"
        self.contract = make_chain(datadir)
        """Contract that logs and returns the number of its block."""
        files = write_chain_files(folder, (datadir / "genesis.json").read_bytes())
        shutil.copy(datadir / "sequencer.key", files.sequencer_key)
        self.role = SequencerRole(self.etcd.journal_url(), standby=False, force_journal=True)
        self.node = NodeProcess("leader", self.role, files, folder / "leader", (foreseal_command(),), FAST)
        self.files = files

    def start(self) -> None:
        """Start members and leader. Raises NodeError."""
        self.etcd.start()
        # The chain began without a quorum journal.
        import_journal((foreseal_command(),), self.node)
        self.node.start()
        wait_until(self.node.is_ready, [self.node], _START_TIMEOUT)

    def stop(self) -> None:
        """Stop leader and members."""
        self.node.stop()
        self.etcd.stop()


class ReplicaNode(WorkersNode):
    """A replica with workers. Its folder is empty at the start, so that it begins with a snapshot of the leader."""

    def __init__(self, datadir: Path, workers: int, leader: QuorumLeader) -> None:
        self._leader = leader
        self._writer = Rpc(leader.node.url)
        token, genesis = str(leader.files.token), str(leader.files.genesis)
        follow = ("--follow", leader.role.feed_address, "--feed-token-file", token, "--genesis", genesis)
        super().__init__(datadir, workers, *follow)

    @property
    def others(self) -> list[Rpc]:
        """The replica's own process, and the leader."""
        return [self.sequencer, self._writer]

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._writer.close()

    def _make_chain(self, datadir: Path) -> str:
        return self._leader.contract


@contextlib.contextmanager
def replica_node(folder: Path, workers: int) -> Iterator[WorkersNode]:
    """Run a leader and a replica with workers, which must stop cleanly. Skips the test if etcd is not installed."""
    leader = QuorumLeader(folder)
    try:
        leader.start()
        with stopped_cleanly(ReplicaNode(folder / "replica", workers, leader)) as node:
            yield node
    finally:
        leader.stop()
