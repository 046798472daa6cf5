"""A real etcd cluster: start, loss of members, pause, full database, compaction, restart on the same folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from cluster.engine_observer import EngineObserver
from cluster.recording import Recording
from etcd_gateway import EtcdGateway, EtcdGatewayError
from etcd_programs import etcd_program
from foreseal.cluster.etcd import EtcdCluster, stored_ports
from foreseal.errors import NodeError
from live import wait_for


@contextmanager
def started(folder: Path, *flags: str) -> Iterator[EtcdCluster]:
    """Run a cluster of three members in a folder."""
    cluster = EtcdCluster(folder, etcd_program(), stored_ports(folder), flags)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def fill(gateway: EtcdGateway) -> None:
    for number in range(16):
        gateway.put(b"filler/%d" % number, bytes(1 << 20))


def test_writes_survive_a_killed_member_and_a_restart(tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        first, second, third = cluster.members
        written = EtcdGateway(first.endpoint).put(b"a/b", b"1")
        third.kill()
        # It may have been the leader.
        wait_for(lambda: second.is_healthy() and first.is_healthy(), 60, "election")
        assert EtcdGateway(second.endpoint).put(b"a/c", b"2") == written + 1
        third.start()
        wait_for(third.is_healthy, 60, "restarted member")
        assert [entry.value for entry in EtcdGateway(third.endpoint).range(b"a/")] == [b"1", b"2"]
    with started(tmp_path) as cluster:
        assert len(EtcdGateway(cluster.endpoints[0]).range(b"a/")) == 2


def test_paused_majority_answers_no_write_and_resumes(tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        first, *others = cluster.members
        for member in others:
            member.pause()
        with pytest.raises(EtcdGatewayError):
            EtcdGateway(first.endpoint, timeout=0.5).put(b"a", b"1")
        for member in others:
            member.resume()
        wait_for(first.is_healthy, 60, "majority")
        EtcdGateway(first.endpoint).put(b"a", b"2")
        # A member that was paused may not know the leader at once.
        wait_for(lambda: sum(EtcdGateway(each).is_leader() for each in cluster.endpoints) == 1, 60, "one leader")


def test_transaction_compares_revisions_and_watch_yields_each_change(tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        gateway = EtcdGateway(cluster.endpoints[0])
        won, revision = gateway.transaction([(b"p/owner", 0)], [(b"p/owner", b"x")])
        assert won
        assert gateway.transaction([(b"p/owner", 0)], [(b"p/owner", b"y")])[0] is False
        assert gateway.transaction([(b"p/owner", revision)], [(b"p/owner", b"z")])[0]
        changes = EtcdGateway(cluster.endpoints[1]).watch(b"p/", revision)
        assert [next(changes).value for _ in range(2)] == [b"x", b"z"]


def append(gateway: EtcdGateway, sequence: int) -> int:
    """Write a head as a sequencer does, and return the revision."""
    head = {"epoch": 1, "sequence": sequence, "hash": "0x00", "block": 1, "index": sequence}
    return gateway.put(b"p/1/head", orjson.dumps(head))


def test_observer_misses_no_append_after_a_compaction(tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        gateway = EtcdGateway(cluster.endpoints[0])
        gateway.put(b"p/1/owner", orjson.dumps({"epoch": 1, "run_id": "a", "name": "seq-a"}))
        for sequence in range(4):
            compacted = append(gateway, sequence)
        gateway.compact(compacted)
        for sequence in range(4, 8):
            append(gateway, sequence)
        recording = Recording()
        observer = EngineObserver(cluster.endpoints, b"p/", recording)
        try:
            wait_for(lambda: len(recording.heads) >= 5, 30, "appends")
            append(gateway, 8)
            wait_for(lambda: len(recording.heads) >= 6, 30, "the next append")
        finally:
            observer.stop()
    assert [head.sequence for head in recording.heads] == [3, 4, 5, 6, 7, 8]
    assert [each.name for each in recording.owners] == ["seq-a"]
    assert recording.problems == []


def test_full_database_raises_an_alarm_until_disarmed(tmp_path: Path) -> None:
    with started(tmp_path, "--quota-backend-bytes=4194304") as cluster:
        gateway = EtcdGateway(cluster.endpoints[0])
        with pytest.raises(EtcdGatewayError, match="space exceeded"):
            fill(gateway)
        revision = gateway.delete(b"filler/")
        gateway.compact(revision)
        for endpoint in cluster.endpoints:
            EtcdGateway(endpoint).defragment()
        gateway.disarm()
        gateway.put(b"a", b"1")


def test_program_that_is_not_etcd_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="is not etcd"):
        EtcdCluster(tmp_path, "/bin/true")
