"""The observer of an engine whose members compact their history."""

from pathlib import Path

import orjson

from cluster.engine_observer import EngineObserver
from cluster.recording import Recording
from etcd_gateway import EtcdGateway
from etcd_programs import etcd_program
from foreseal.cluster.etcd import EtcdCluster, stored_ports
from live import wait_for


def append(gateway: EtcdGateway, sequence: int) -> int:
    """Write a head as a sequencer does, and return the revision."""
    head = {"epoch": 1, "sequence": sequence, "hash": "0x00", "block": 1, "index": sequence}
    return gateway.put(b"/observed/1/head", orjson.dumps(head))


def test_no_append_after_a_compaction_is_missed(tmp_path: Path) -> None:
    cluster = EtcdCluster(tmp_path, etcd_program(), stored_ports(tmp_path))
    cluster.start()
    try:
        gateway = EtcdGateway(cluster.endpoints[0], timeout=20)
        owner = {"epoch": 1, "run_id": "a", "name": "seq-a"}
        gateway.put(b"/observed/1/owner", orjson.dumps(owner))
        for sequence in range(4):
            compacted = append(gateway, sequence)
        gateway.compact(compacted)
        for sequence in range(4, 8):
            append(gateway, sequence)
        recording = Recording()
        observer = EngineObserver(cluster.endpoints, b"/observed/", recording)
        try:
            wait_for(lambda: len(recording.heads) >= 5, 30, "appends")
            append(gateway, 8)
            wait_for(lambda: len(recording.heads) >= 6, 30, "the next append")
        finally:
            observer.stop()
    finally:
        cluster.stop()
    assert [head.sequence for head in recording.heads] == [3, 4, 5, 6, 7, 8]
    assert [each.name for each in recording.owners] == ["seq-a"]
    assert recording.problems == []
