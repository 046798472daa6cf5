"""The life cycle of the processes of a node, with doubles of the core: start, stop, signals, deaths."""

import http.client
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.blocks import wait_for
from raw_websocket import RawWebSocket
from supervisor.keep_alive_clients import KeepAliveClients
from supervisor.processes import SECONDS, Group, running

# Errors of a connection whose server process is gone.
GONE = (ConnectionError, http.client.HTTPException)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Run a group with two workers."""
    with running(tmp_path) as group:
        yield group


def test_sequencer_starts_before_and_ends_after_the_workers(group: Group) -> None:
    assert group.end() == 0
    names = [(name, what) for name, _, what in group.log()]
    assert names[0] == ("sequencer", "start")
    assert names[-1] == ("sequencer", "stop")
    assert sorted(names[1:3]) == [("worker-1", "start"), ("worker-2", "start")]
    assert sorted(names[3:5]) == [("worker-1", "stop"), ("worker-2", "stop")]
    assert not group.children()
    assert "ERROR" not in group.logged


def test_supervisor_has_one_thread_and_no_node(group: Group) -> None:
    process = Path("/proc") / str(group.process.pid)
    assert len(list((process / "task").iterdir())) == 1
    assert "foreseal/_core" not in (process / "maps").read_text()
    assert len(group.children()) == 3


def test_both_workers_answer(group: Group) -> None:
    assert set(group.client_of_each()) == {*group.pids("worker-1"), *group.pids("worker-2")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_answers_calls_in_progress(group: Group, number: int) -> None:
    load = KeepAliveClients(group.port, 8)
    wait_for(lambda: sum(load.answers.values()) > 50, SECONDS, "load")
    load.finish()
    assert group.end(number) == 0
    load.join()
    assert not load.lost


def test_terminal_signal_reaches_every_process_and_stops_gracefully(group: Group) -> None:
    os.killpg(group.process.pid, signal.SIGINT)
    assert group.wait() == 0
    assert [what for _, _, what in group.log()].count("stop") == 3


def test_second_signal_stops_immediately(tmp_path: Path) -> None:
    with running(tmp_path, heartbeat_timeout=0) as group:
        os.kill(group.pids("sequencer")[0], signal.SIGSTOP)
        group.process.send_signal(signal.SIGTERM)
        wait_for(lambda: [what for _, _, what in group.log()].count("stop") == 2, SECONDS, "end of the workers")
        assert group.end() == 130
        wait_for(lambda: not group.children(), SECONDS, "end of the killed processes")


def test_no_process_outlives_the_supervisor(group: Group) -> None:
    assert len(group.children()) == 3
    group.process.kill()
    wait_for(lambda: not group.children(), SECONDS, "end of the others")
    assert [what for _, _, what in group.log()].count("stop") == 0


def test_dead_worker_closes_only_its_own_connections(group: Group) -> None:
    clients = group.client_of_each()
    dead, alive = clients
    os.kill(dead, signal.SIGKILL)
    assert clients[alive]("pid") == alive
    with pytest.raises(GONE):
        clients[dead]("pid")
    group.wait_for_log("process ready", 4)
    assert "process died: restarting" in group.logged
    assert len(group.log()) == 4
    assert group.end() == 0


def test_sequencer_restarts_under_running_workers(group: Group) -> None:
    client = group.client()
    worker = client("pid")
    before = group.pids("sequencer")
    assert client("sends")["code"] == -32601
    (group.datadir / "replaying").touch()
    os.kill(before[0], signal.SIGSTOP)
    os.kill(before[0], signal.SIGKILL)
    wait_for(lambda: len(group.pids("sequencer")) == 2, SECONDS, "a new sequencer")
    assert client("pid") == worker
    (group.datadir / "replaying").unlink()
    group.wait_for_log("process ready", 4)
    assert client("sends")["code"] == -32601
    assert [len(group.pids(name)) for name in ("worker-1", "worker-2")] == [1, 1]
    assert group.end() == 0


def test_submissions_fail_clearly_without_the_sequencer(group: Group) -> None:
    client = group.client()
    (group.datadir / "refuse-sequencer").write_text("disk it is full")
    os.kill(group.pids("sequencer")[0], signal.SIGKILL)
    group.wait_for_log("process died", 2)
    assert client("sends")["code"] == -32002
    assert client("pid")
    (group.datadir / "refuse-sequencer").unlink()
    group.wait_for_log("process ready", 4)
    assert client("sends")["code"] == -32601
    assert group.end() == 0


def test_workers_that_lost_the_feed_are_replaced(group: Group) -> None:
    before = group.pids("worker-1") + group.pids("worker-2")
    (group.datadir / "broken").touch()
    wait_for(lambda: {pid for _, pid, what in group.log() if what == "stop"} >= {*before}, SECONDS, "end of both")
    (group.datadir / "broken").unlink()
    wait_for(lambda: not set(group.client_of_each()) & set(before), SECONDS, "two other workers")
    assert [what for _, pid, what in group.log() if pid in before] == ["start", "start", "stop", "stop"]
    assert group.end() == 0


@pytest.mark.parametrize(("kind", "code"), [("in-use", 2), ("genesis", 2), ("settings", 2), ("journal", 1)])
def test_sequencer_start_failure_ends_all_and_is_logged(tmp_path: Path, kind: str, code: int) -> None:
    (tmp_path / "refuse-sequencer").write_text(f"{kind} this cannot be")
    group = Group(tmp_path)
    try:
        assert group.wait() == code
        assert group.logged == "foreseal: this cannot be\n"
        assert group.log() == []
        assert not group.children()
    finally:
        group.kill()


def test_sequencer_without_restarts_stops_every_process(group: Group) -> None:
    (group.datadir / "refuse-sequencer").write_text("in-use somebody has it")
    os.kill(group.pids("sequencer")[0], signal.SIGKILL)
    assert group.wait() == 2
    assert group.logged.endswith("foreseal: somebody has it\n")
    assert [(name, what) for name, _, what in group.log()].count(("worker-1", "stop")) == 1
    assert not group.children()


def test_failing_worker_is_restarted_at_growing_intervals(group: Group) -> None:
    # This also holds if another command line would help: the other worker still serves calls.
    (group.datadir / "refuse-worker").write_text("store it is of an older version")
    os.kill(group.pids("worker-1")[0], signal.SIGKILL)
    group.wait_for_log("process died", 4)
    assert group.client()("pid") == group.pids("worker-2")[0]
    (group.datadir / "refuse-worker").unlink()
    group.wait_for_log("process ready", 4)
    assert group.end() == 0


def test_workers_are_replaced_without_lost_requests(group: Group) -> None:
    before = {name: group.pids(name) for name in ("worker-1", "worker-2")}
    load = KeepAliveClients(group.port, 12)
    wait_for(lambda: sum(load.answers.values()) > 50, SECONDS, "load")
    for turn in (1, 2):
        group.process.send_signal(signal.SIGHUP)
        group.wait_for_log("workers replaced", turn)
    load.join()
    assert not load.lost
    assert load.closed >= 12
    for name, pids in before.items():
        now = group.pids(name)
        assert now[:1] == pids
        assert len(now) == 3
    assert len(group.children()) == 3
    assert len(group.pids("sequencer")) == 1
    print(f"\n{sum(load.answers.values())} requests over two replacements, {load.closed} connections led over, 0 lost")
    assert group.end() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_replaced_worker_closes_websockets_after_their_calls(group: Group, number: int) -> None:
    held = group.datadir / "held"
    with RawWebSocket(group.port) as line:
        assert line.request("echo", "x") == ["x"]
        held.touch()
        line.call("slow", "y")
        # The response to a later call shows that the message was processed.
        assert line.request("pid") in group.children()
        group.process.send_signal(number)
        held.unlink()
        assert line.hear()["result"] == ["y"]
        assert line.ending() == (1001, "the server is shutting down")


def test_idle_connection_does_not_block_a_replacement(group: Group) -> None:
    clients = group.client_of_each()
    started = time.monotonic()
    group.process.send_signal(signal.SIGHUP)
    group.wait_for_log("workers replaced")
    assert time.monotonic() - started < SECONDS
    for client in clients.values():
        with pytest.raises(GONE):
            client("pid")
    assert group.end() == 0


def test_worker_continues_if_its_replacement_cannot_start(group: Group) -> None:
    (group.datadir / "refuse-worker").write_text("settings the file is wrong by now")
    group.process.send_signal(signal.SIGHUP)
    group.wait_for_log("keeping the running process", 2)
    group.wait_for_log("workers replaced")
    assert [len(group.pids(name)) for name in ("worker-1", "worker-2")] == [1, 1]
    assert group.client()("pid")
    assert group.end() == 0


def test_hangup_signal_to_the_group_replaces_the_workers_once(group: Group) -> None:
    os.killpg(group.process.pid, signal.SIGHUP)
    group.wait_for_log("workers replaced")
    assert [len(group.pids(name)) for name in ("sequencer", "worker-1", "worker-2")] == [1, 2, 2]
    assert group.end() == 0
