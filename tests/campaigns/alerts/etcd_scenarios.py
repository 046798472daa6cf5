"""Causes in the etcd members of a cluster."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.scenario import CLUSTER, SECONDS, Scenario, Started
from etcd_gateway import EtcdGateway
from etcd_programs import etcd_program
from foreseal.cluster.etcd import EtcdCluster, EtcdMember, find_etcd
from foreseal.cluster.local_cluster import running
from foreseal.cluster.node_process import SequencerRole
from link_proxy import LinkProxies, LinkState
from live import wait_for
from real_cluster import describe_cluster, real_cluster

# Delay of each direction between a sequencer and etcd.
_DELAY_MS = 80
_QUOTA = 16 << 20
_VALUE = b"written by another client of etcd"


@contextlib.contextmanager
def lost_etcd(folder: Path) -> Iterator[Started]:
    """Kill the only etcd member of a cluster."""
    with real_cluster(folder / "cluster", members=1) as cluster:
        ports = [node.port for node in cluster.nodes]
        member = cluster.etcd.members[0]
        targets = {"foreseal": [f"127.0.0.1:{port}" for port in ports], "etcd": [f"127.0.0.1:{member.ports.client}"]}
        member.kill()
        yield Started(targets)
        cluster.etcd.start()
        wait_for(lambda: all(node.is_ready() for node in cluster.nodes), SECONDS, "readiness")


@contextlib.contextmanager
def slow_etcd(folder: Path) -> Iterator[Started]:
    """Delay the traffic between a sequencer and etcd."""
    cluster = describe_cluster(folder / "cluster", members=1, standbys=0, replicas=0)
    (leader,) = cluster.sequencers
    with contextlib.closing(LinkProxies()) as links:
        port = links.add("etcd", cluster.etcd.members[0].ports.client)
        assert isinstance(leader.role, SequencerRole)
        leader.set_role(replace(leader.role, journal=f"etcd://127.0.0.1:{port}/foreseal"))
        with running(cluster):
            slow = LinkState(delay_ms=_DELAY_MS)
            targets = {"foreseal": [f"127.0.0.1:{leader.port}"]}
            yield Started(targets, lambda: links.set_state(["etcd"], slow), is_healthy_first=True)
            links.heal()


@contextlib.contextmanager
def large_database(folder: Path) -> Iterator[Started]:
    """Write to etcd with a small quota."""
    etcd = EtcdCluster(folder, etcd_program(), flags=(f"--quota-backend-bytes={_QUOTA}",))
    with _running_etcd(etcd) as targets:
        gateway = EtcdGateway(etcd.members[0].endpoint)
        keys = iter(range(1_000_000))

        def write() -> None:
            if int(gateway.status()["dbSize"]) < 0.9 * _QUOTA:
                gateway.put(f"{next(keys)}".encode(), os.urandom(1 << 20))

        yield Started(targets, write, is_healthy_first=True)


@contextlib.contextmanager
def unfinished_upgrade(folder: Path) -> Iterator[Started]:
    """Run one of the members with another version: the program in $OTHER_ETCD."""
    other = find_etcd(os.environ.get("OTHER_ETCD", "")) or pytest.skip("OTHER_ETCD is not set")
    etcd = EtcdCluster(folder, other)
    with _running_etcd(etcd) as targets:
        upgraded = etcd.members[0]

        def upgrade() -> None:
            if upgraded.command[0] == other:
                upgraded.stop()
                upgraded.command = (etcd_program(), *upgraded.command[1:])
                upgraded.start()

        yield Started(targets, upgrade, is_healthy_first=True)


@contextlib.contextmanager
def _running_etcd(etcd: EtcdCluster) -> Iterator[dict[str, list[str]]]:
    try:
        etcd.start()
        yield _job(etcd.members)
    finally:
        etcd.stop()


def _job(members: list[EtcdMember]) -> dict[str, list[str]]:
    return {"etcd": [member.endpoint for member in members]}


@contextlib.contextmanager
def damaged_member(folder: Path) -> Iterator[Started]:
    """Change a value in the database of one member, and start a standby, which compares the members."""
    with real_cluster(folder / "cluster", replicas=0) as cluster:
        damaged = cluster.etcd.members[-1]
        EtcdGateway(cluster.etcd.members[0].endpoint).put(b"value", _VALUE)
        file = damaged.folder / "data" / "member" / "snap" / "db"
        wait_for(lambda: _VALUE in file.read_bytes(), SECONDS, "the value in the database of a member")
        standby = cluster.sequencers[1]
        restarted = False

        def restart() -> None:
            nonlocal restarted
            if not restarted:
                standby.stop()
                damaged.stop()
                file.write_bytes(file.read_bytes().replace(_VALUE, _VALUE.upper()))
                damaged.start()
                cluster.etcd.wait_until_healthy()
                standby.start()
                restarted = True

        yield Started({"foreseal": [f"127.0.0.1:{standby.port}"]}, restart, is_healthy_first=True)


ETCD_SCENARIOS = (
    Scenario(
        "a cluster without etcd",
        frozenset(
            {
                "ForesealNoQuorum",
                "ForesealStaleView",
                "ForesealEtcdMemberDown",
                "ForesealEtcdFindings",
                "ForesealNodeNotReady",
            }
        ),
        lost_etcd,
        CLUSTER,
    ),
    Scenario("a slow network to etcd", frozenset({"ForesealSlowAppends"}), slow_etcd, CLUSTER),
    Scenario("an etcd database near its quota", frozenset({"ForesealEtcdDatabaseSize"}), large_database, CLUSTER),
    Scenario(
        "an upgrade of etcd that is not finished", frozenset({"ForesealEtcdVersions"}), unfinished_upgrade, CLUSTER
    ),
    Scenario("a damaged etcd member", frozenset({"ForesealEtcdMembersDiffer"}), damaged_member, CLUSTER),
)
