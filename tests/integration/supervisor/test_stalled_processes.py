"""Wedged processes, with doubles of the core: they are replaced, and a stop ends in time."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.blocks import wait_for
from supervisor.processes import SECONDS, Client, Group, running

QUICK = {"heartbeat_timeout": 2_000}
# Seconds of the stop, and a margin for a slow machine.
MARGIN, SLOWNESS = 5.0, 10.0


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Run a group with two workers."""
    with running(tmp_path, **QUICK) as group:
        yield group


def test_stopped_sequencer_is_replaced(group: Group) -> None:
    client = group.client()
    worker, (before,) = client("pid"), group.pids("sequencer")
    os.kill(before, signal.SIGSTOP)
    group.wait_for_log("process ready", 4)
    assert "killing wedged process" in group.logged
    assert len(group.pids("sequencer")) == 2
    assert client("pid") == worker
    assert client("sends")["code"] == -32601
    assert group.end() == 0


def test_stopped_worker_is_replaced(group: Group) -> None:
    clients = group.client_of_each()
    wedged, other = clients
    os.kill(wedged, signal.SIGSTOP)
    group.wait_for_log("process ready", 4)
    assert clients[other]("pid") == other
    assert wedged not in group.client_of_each()
    assert len(group.pids("sequencer")) == 1
    assert group.end() == 0


def test_worker_with_stuck_event_loop_is_replaced(group: Group) -> None:
    threading.Thread(target=lose_call, args=(group.client(), "wedge")).start()
    group.wait_for_log("process ready", 4)
    assert "no heartbeat for" in group.logged
    assert group.client()("pid")
    assert group.end() == 0


def lose_call(client: Client, method: str) -> None:
    """Make a call that never gets a response."""
    with pytest.raises(Exception, match=r"."):
        client(method)


def test_sequencer_with_stuck_writing_thread_is_replaced(group: Group) -> None:
    (group.datadir / "wedged").touch()
    group.wait_for_log("killing wedged process")
    (group.datadir / "wedged").unlink()
    group.wait_for_log("process ready", 4)
    assert "while producing" in group.logged
    assert [len(group.pids(name)) for name in ("worker-1", "worker-2")] == [1, 1]
    assert group.end() == 0


def test_replaying_sequencer_is_not_wedged(group: Group) -> None:
    (group.datadir / "replaying").touch()
    os.kill(group.pids("sequencer")[0], signal.SIGKILL)
    wait_for(lambda: len(group.pids("sequencer")) == 2, SECONDS, "another sequencer")
    # Heartbeats of three processes; each sends six within the timeout.
    group.wait_for_beats(45)
    (group.datadir / "replaying").unlink()
    group.wait_for_log("process ready", 4)
    assert len(group.pids("sequencer")) == 2
    assert "wedged" not in group.logged
    assert group.end() == 0


def test_pause_of_the_supervisor_kills_no_process(group: Group) -> None:
    group.process.send_signal(signal.SIGSTOP)
    group.wait_for_beats(45)
    group.process.send_signal(signal.SIGCONT)
    group.wait_for_beats(45)
    assert len(group.children()) == 3
    assert "wedged" not in group.logged
    assert group.end() == 0


def test_pause_of_all_processes_kills_none(group: Group) -> None:
    os.killpg(group.process.pid, signal.SIGSTOP)
    time.sleep(2 * QUICK["heartbeat_timeout"] / 1000)
    os.killpg(group.process.pid, signal.SIGCONT)
    group.wait_for_beats(45)
    assert "wedged" not in group.logged
    assert [len(group.pids(name)) for name in ("sequencer", "worker-1", "worker-2")] == [1, 1, 1]
    assert group.end() == 0


@pytest.mark.parametrize(("name", "code"), [("sequencer", 1), ("worker-1", 0)])
def test_stop_with_a_stopped_process_ends_in_time(tmp_path: Path, name: str, code: int) -> None:
    with running(tmp_path, heartbeat_timeout=0, drain_time=1) as group:
        os.kill(group.pids(name)[0], signal.SIGSTOP)
        assert timed_end(group) == code
        assert "process did not stop in time: killing" in group.logged


def test_stopped_process_is_killed_early_during_a_stop(tmp_path: Path) -> None:
    with running(tmp_path, drain_time=60_000, **QUICK) as group:
        os.kill(group.pids("worker-2")[0], signal.SIGSTOP)
        assert timed_end(group) == 0


@pytest.mark.parametrize(("kind", "code"), [("sequencer", 1), ("worker", 0)])
def test_stop_with_a_process_that_hangs_ends_in_time(tmp_path: Path, kind: str, code: int) -> None:
    with running(tmp_path, drain_time=1) as group:
        (group.datadir / f"hangs-{kind}").touch()
        assert timed_end(group) == code


def timed_end(group: Group) -> int:
    """Return the exit code after SIGTERM, which must come within the stop time."""
    started = time.monotonic()
    code = group.end()
    assert time.monotonic() - started < MARGIN + SLOWNESS
    assert not group.children()
    return code
