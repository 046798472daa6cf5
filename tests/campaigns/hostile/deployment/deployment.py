"""The processes around a node under test, by their kinds."""

from collections.abc import Sequence
from typing import Any

from hostile.chain import Chain
from hostile.deployment.cluster import Feed, Follower, Quorum, start_replica
from hostile.deployment.kinds import KINDS, QUORUM, REPLICA, RESTART, WATCHER, WORKERS
from hostile.deployment.merchant import Merchant, WatcherPeer, merchant_alloc
from hostile.deployment.peer import KeyedRpc, NodePeer, Peer
from live.group import group_of, names_of, server_of
from live.process import LiveNode
from live.rpc import Rpc

NODE = "node"
_WORKERS = 2
_MAX_CONNECTIONS = 32
"""Connections until each worker has accepted one; the kernel distributes them."""


def alloc_of(kinds: Sequence[str]) -> dict[str, Any]:
    """Return the additional genesis entries of a deployment."""
    return merchant_alloc() if WATCHER in kinds else {}


class Deployment:
    """Starts and stops these processes: `prepare` before the node under test starts, `start` once it is ready."""

    def __init__(self, kinds: Sequence[str], chain: Chain) -> None:
        """Describe it. Raises RuntimeError if a program that it requires is not installed."""
        self.kinds = tuple(kind for kind in KINDS if kind in kinds)
        self._chain = chain
        self._feed = Feed(chain.folder) if {REPLICA, QUORUM} & set(kinds) else None
        self._quorum: Quorum | None = None
        self._followers: list[Follower] = []
        self.merchant: Merchant | None = None
        if QUORUM in kinds:
            assert self._feed is not None
            self._quorum = Quorum(chain.build, chain.folder, self._feed)

    def prepare(self) -> None:
        """Start what the node under test requires."""
        if self._quorum is not None:
            self._quorum.start()

    @property
    def restarts(self) -> bool:
        """True if the node under test is stopped and started again."""
        return RESTART in self.kinds

    def node_options(self, *, is_restart: bool = False) -> list[str]:
        """Return the options of the node under test."""
        options = ["--workers", str(_WORKERS)] if WORKERS in self.kinds else []
        if self._feed is not None:
            options += self._feed.options()
        if self._quorum is not None:
            options += self._quorum.leader_options(is_restart=is_restart)
        return options

    def start(self, node: LiveNode) -> None:
        """Start the processes that follow the node, and wait until each is ready."""
        if self._quorum is not None:
            self._quorum.start_standbys()
        if REPLICA in self.kinds:
            assert self._feed is not None
            self._followers.append(start_replica(self._chain.build, self._chain.folder, self._feed))
        if WATCHER in self.kinds:
            self.merchant = Merchant(self._chain.folder / "merchant", node.url)

    def peers(self, node: LiveNode) -> list[Peer]:
        """Connect to all processes that must reach the newest step; the node under test is the first."""
        key = self._chain.facts.keys[0]
        peers: list[Peer] = [NodePeer(NODE, KeyedRpc(node.url, key))]
        if WORKERS in self.kinds:
            peers += _connect_to_workers(node, key)
        standbys = self._quorum.standbys if self._quorum else []
        peers += [NodePeer(each.name, Rpc(each.node.url)) for each in (*self._followers, *standbys)]
        if self.merchant is not None:
            peers.append(WatcherPeer(self.merchant))
        return peers

    def lost_leadership(self, peers: Sequence[Peer]) -> str:
        """Return the role of the node under test if it no longer leads its cluster, otherwise nothing."""
        if self._quorum is None or not isinstance(peers[0], NodePeer):
            return ""
        role = peers[0].rpc("foreseal_status").get("cluster", {}).get("role")
        return "" if role == "leader" else f"the node no longer leads the cluster: it is a {role}"

    def ended(self) -> list[str]:
        """Return the names of followers that have ended."""
        standbys = self._quorum.standbys if self._quorum else []
        return [
            f"{each.name} ended with {each.node.process.poll()}"
            for each in (*self._followers, *standbys)
            if each.node.process.poll() is not None
        ]

    def stop(self) -> None:
        """Stop all processes except the node under test."""
        if self.merchant is not None:
            self.merchant.stop()
        for follower in self._followers:
            follower.stop()
        if self._quorum is not None:
            self._quorum.stop()


def _connect_to_workers(node: LiveNode, key: str) -> list[NodePeer]:
    """Return a connection to each worker that accepts one."""
    group = group_of(node.process.pid)
    names = {pid: name for name, pid in names_of(node.process.pid)}
    workers: dict[int, NodePeer] = {}
    unused: list[Rpc] = []
    for _ in range(_MAX_CONNECTIONS):
        rpc = KeyedRpc(node.url, key)
        rpc("foreseal_status")
        pid = server_of(rpc, group)
        if pid is None or pid in workers:
            unused.append(rpc)
        else:
            workers[pid] = NodePeer(names.get(pid, f"process {pid}"), rpc)
        if len(workers) == _WORKERS:
            break
    for each in unused:
        each.close()
    return list(workers.values())
