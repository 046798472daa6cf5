"""Processes of a live node are wedged, seen by its clients."""

import os
import signal
import time
from pathlib import Path

from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS, LiveNode, wait_for
from live.faulty_disk import FaultyDisk
from live.process import FAST, foreseal_command
from live.sending import Sender
from traffic.compare import compare
from traffic.crowd import Crowd
from traffic.record import Record
from workers.node import SECONDS, WorkersNode, workers_node

# Seconds of a stop with drain times of 10 s, and a margin for a slow machine.
STOP_TIME, SLOWNESS = 15.0, 10.0
# Seconds until a wedged process is replaced: the setting plus half a second; the rest is its start.
WEDGE_TIME = 3.5


def test_wedged_sequencer_is_replaced_and_no_step_is_lost(tmp_path: Path) -> None:
    # The next sequencer serves administrators at the same port.
    with workers_node(tmp_path / "data", 2, "--admin", f"127.0.0.1:{next_free_port()}") as node:
        record = Record()
        crowd = Crowd(node.live.url, bytes.fromhex(node.contract[2:]), record, 1, submissions=60, readers=40)
        try:
            wait_for(lambda: crowd.sent > 60 and crowd.reads > 20, SECONDS, "load")
            (before,) = node.pids("sequencer")
            stopped = time.monotonic()
            os.kill(before, signal.SIGSTOP)
            wait_for(lambda: before not in node.pids("sequencer"), SECONDS, "end of the wedged sequencer")
            killed = time.monotonic() - stopped
            sent = crowd.sent
            wait_for(lambda: crowd.sent > sent + 60, 2 * SECONDS, "submissions afterwards", lambda: node.live.printed)
            went_on = time.monotonic() - stopped
        finally:
            crowd.end()
        crowd.stop()
        assert "killing wedged process" in node.live.printed
        assert killed < WEDGE_TIME + SLOWNESS
        assert record.faults == []
        part = record.after((0, 0))
        for rpc in node.each():
            assert compare(rpc, part, record) > 10
        assert record.faults == []
        assert metric(node, 'foreseal_restarts_total{child="sequencer",reason="wedged"') == 1
        assert 0 <= metric(node, 'foreseal_heartbeat_age_seconds{child="worker-1"') < SLOWNESS
    print(f"\nkilled after {killed:.1f} s, 60 submissions more were answered after {went_on:.1f} s")


def metric(node: WorkersNode, begin: str) -> float:
    """Return the value of the one sample whose line has this prefix."""
    text = node.sequencer.request("GET", "/metrics").body.decode()
    (line,) = (line for line in text.splitlines() if line.startswith(begin))
    return float(line.rpartition(" ")[2])


def test_disk_that_hangs_is_no_wedge(tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path)
    with workers_node(tmp_path / "data", 2, wrap=disk.under) as node:
        before = node.pids()
        rpc = node.each()[0]
        disk.hang()
        # At an age of five seconds, another process would have been killed after three.
        wait_for(lambda: rpc.request("GET", "/readyz").status == 503, SECONDS, "red health")
        assert node.pids() == before
        disk.recover()
        wait_for(lambda: rpc.request("GET", "/readyz").status == 200, SECONDS, "good health")
        name = Sender(rpc, DEV_ACCOUNTS[0]).send(to=DEV_ACCOUNTS[1].address, value=1)
        wait_for(lambda: rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")
        assert node.pids() == before


def test_stop_over_a_disk_that_hangs_ends_in_time(tmp_path: Path, transport: str) -> None:
    disk = FaultyDisk(tmp_path)
    options = (
        "--datadir",
        str(tmp_path / "data"),
        "--port",
        "0",
        *FAST,
        "--transport",
        transport,
        "--drain-time",
        "1ms",
    )
    command = [foreseal_command(), "dev", *options]
    node = LiveNode(disk.under(command))
    try:
        name = Sender(node.rpc, DEV_ACCOUNTS[0]).send(to=DEV_ACCOUNTS[1].address, value=1)
        receipt = wait_for(lambda: node.rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")
        disk.hang()
        wait_for(lambda: node.rpc.request("GET", "/healthz").status == 503, SECONDS, "red health")
        assert node.rpc("eth_blockNumber"), "reads go on"
        started = time.monotonic()
        assert node.stop() == 1
        assert time.monotonic() - started < STOP_TIME - 10 + SLOWNESS
        assert "the process did not stop in time" in node.printed
    finally:
        node.kill()
    again = LiveNode(command)
    try:
        assert again.rpc("eth_getTransactionReceipt", name)["transactionHash"] == receipt["transactionHash"]
    finally:
        assert again.stop() == 0
