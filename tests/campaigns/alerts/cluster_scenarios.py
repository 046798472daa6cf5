"""Causes in the nodes of a cluster."""

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from alerts.scenario import CLUSTER, Scenario, Started
from real_cluster import real_cluster, transfer

# Repetitions of the campaign, one a second, in which Prometheus sees the successor lead.
_SCRAPED = 8
# Steps of one repetition.
_STEPS = 12


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


@contextlib.contextmanager
def lagging_replica(folder: Path) -> Iterator[Started]:
    """Stop a replica with SIGSTOP while steps are made."""
    with real_cluster(folder / "cluster", members=1, standbys=0) as cluster:
        (leader,) = cluster.sequencers
        (replica,) = cluster.replicas
        nonces = iter(range(1_000_000))

        def make_steps() -> None:
            replica.pause()
            for nonce in itertools.islice(nonces, _STEPS):
                transfer(leader, nonce)

        yield Started({"foreseal": [f"127.0.0.1:{leader.port}"]}, make_steps, is_healthy_first=True)
        replica.resume()


CLUSTER_SCENARIOS = (
    Scenario(
        "a cluster that loses its sequencers",
        frozenset({"ForesealTakeover", "ForesealNoStandby", "ForesealNoLeader"}),
        lost_sequencers,
        CLUSTER,
    ),
    Scenario("a replica that hangs while steps are made", frozenset({"ForesealFollowerLag"}), lagging_replica, CLUSTER),
)
