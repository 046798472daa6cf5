"""Metrics of processes in shared memory."""

import os

from foreseal.server.processes.process_table import ProcessTable, create_process_table


def test_readers_see_restarts_and_heartbeats() -> None:
    fd = create_process_table(["sequencer", "worker-1"])
    try:
        writer, reader = ProcessTable(fd, writable=True), ProcessTable(fd)
        assert [(each.name, each.heartbeat_age) for each in reader.metrics()] == [
            ("sequencer", None),
            ("worker-1", None),
        ]
        writer.record_restart("worker-1", "died")
        writer.record_restart("worker-1", "wedged")
        writer.record_restart("worker-1", "wedged")
        writer.record_heartbeat("sequencer")
        sequencer, worker = reader.metrics()
        assert sequencer.heartbeat_age is not None
        assert 0 <= sequencer.heartbeat_age < 60
        assert (sequencer.restarts, worker.restarts) == ({"died": 0, "wedged": 0}, {"died": 1, "wedged": 2})
        assert worker.heartbeat_age is None
    finally:
        os.close(fd)
