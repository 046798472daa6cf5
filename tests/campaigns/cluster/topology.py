"""The cluster under test: every connection of a sequencer to the engine, and of a follower to a feed, is a link."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clock_shim import build_shim, clock_environment
from foreseal.cluster.etcd import EtcdCluster, MemberPorts
from foreseal.cluster.local_cluster import write_chain_files
from foreseal.cluster.node_process import NodeProcess, ReplicaRole, SequencerRole
from foreseal.ports import next_free_port
from link_proxy import LinkProxies
from transfer_accounts import funded_genesis

SEQUENCERS = ("seq-a", "seq-b")
REPLICAS = ("replica-1", "replica-2")
# Bytes of the engine's database, and of the small member's file system, which holds that, a copy while it is
# defragmented, and several 64 MB segments of its log.
QUOTA = 48 << 20
_SMALL_DISK = "512m"


class FaultTopology:
    """Processes and links in one folder."""

    def __init__(self, folder: Path, etcd: str, program: Sequence[str], options: Sequence[str] = ()) -> None:
        """`program` is the command `foreseal`; `options` are those of every node process."""
        self.folder = folder
        self.links = LinkProxies()
        self.disk = SmallDisk(folder / "etcd-3" / "data")
        self.clock_shim = build_shim(folder)
        """Library that moves the wall clocks of sequencers; None without a C compiler."""
        ports = []
        for number in range(1, 4):
            peer = next_free_port()
            ports.append(MemberPorts(next_free_port(), peer, self.links.add(f"peer/etcd-{number}", peer)))
        self.etcd = EtcdCluster(folder, etcd, ports, (f"--quota-backend-bytes={QUOTA}",))
        files = write_chain_files(folder, funded_genesis())
        self.sequencers: list[NodeProcess] = []
        for name in SEQUENCERS:
            endpoints = [
                f"127.0.0.1:{self.links.add(f'engine/{name}/{member.name}', member.ports.client)}"
                for member in self.etcd.members
            ]
            feed = next_free_port()
            role = SequencerRole(
                f"etcd://{','.join(endpoints)}/campaign",
                bool(self.sequencers),
                feed,
                self.links.add(f"feed/{name}", feed),
                force_journal=True,
            )
            environment = clock_environment(self.clock_shim, folder / name / "clock") if self.clock_shim else {}
            self.sequencers.append(NodeProcess(name, role, files, folder / name, program, options, environment))
        self.replicas: list[NodeProcess] = []
        for name in REPLICAS:
            follow = [
                f"tcp://127.0.0.1:{self.links.add(f'follow/{name}/{each.name}', each.role.feed)}"
                for each in self.sequencers
                if isinstance(each.role, SequencerRole)
            ]
            self.replicas.append(NodeProcess(name, ReplicaRole(follow), files, folder / name, program, options))

    @property
    def nodes(self) -> list[NodeProcess]:
        """All node processes."""
        return [*self.sequencers, *self.replicas]

    def start(self) -> None:
        """Start all processes; the first sequencer becomes the leader."""
        self.disk.mount()
        self.etcd.start()
        for node in self.nodes:
            node.start()

    def restart(self, node: NodeProcess) -> None:
        """Start a node process again; a sequencer waits as a standby."""
        if isinstance(node.role, SequencerRole):
            node.set_role(replace(node.role, standby=True))
        node.start()

    def stop(self) -> None:
        """Stop all processes and links, and unmount the small disk."""
        for process in (*self.nodes, *self.etcd.members):
            process.resume()
        for node in self.nodes[::-1]:
            node.stop()
        self.etcd.stop()
        self.links.close()
        self.disk.unmount()


class SmallDisk:
    """A small file system in memory; without root or mount it stays a folder, and `is_mounted` is False."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_mounted = False

    def mount(self) -> None:
        """Mount it if this process may."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            command = ("mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK},mode=700", "tmpfs", str(self.folder))
            self.is_mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0

    def unmount(self) -> None:
        """Unmount it."""
        if self.is_mounted:
            subprocess.run(("umount", "--lazy", str(self.folder)), check=True)
            self.is_mounted = False

    def fill(self) -> None:
        """Write until no space is left."""
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                return

    def free(self) -> None:
        """Delete what `fill` wrote."""
        (self.folder / "filler").unlink(missing_ok=True)
