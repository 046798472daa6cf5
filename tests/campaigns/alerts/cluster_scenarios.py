"""Causes in a cluster and its etcd members."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from alerts.scenario import CLUSTER, SECONDS, Scenario, Started
from live import wait_for
from real_cluster import real_cluster

# Repetitions of the campaign, one a second, in which Prometheus sees the successor lead.
_SCRAPED = 8


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
def lost_sequencers(folder: Path) -> Iterator[Started]:
    """Kill the leader, and later its successor."""
    with real_cluster(folder / "cluster", members=1) as cluster:
        targets = {"foreseal": [f"127.0.0.1:{node.port}" for node in cluster.nodes]}
        leader, standby = cluster.sequencers
        calls = iter(range(1_000_000))

        def kill() -> None:
            number = next(calls)
            if number == 0:
                leader.kill()
            if number == _SCRAPED:
                standby.kill()

        yield Started(targets, kill, is_healthy_first=True)


CLUSTER_SCENARIOS = (
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
    Scenario(
        "a cluster that loses its sequencers",
        frozenset({"ForesealTakeover", "ForesealNoStandby", "ForesealNoLeader"}),
        lost_sequencers,
        CLUSTER,
    ),
)
