"""A process slot that is refilled after each exit, with doubles of the processes."""

import asyncio
import errno
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from foreseal.server.processes.shared_socket import RETIRE_SIGNAL
from foreseal.server.settings import Settings
from foreseal.supervisor.bootstrap import BootstrapMessage
from foreseal.supervisor.child import Child
from foreseal.supervisor.process_slot import ProcessSlot
from foreseal.supervisor.stall_detector import Timeouts
from foreseal.supervisor.supervisor import worker_stop_time

from asgi_client import until
from descriptors import descriptors

NO_ROOM = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


class Double:
    """A process controlled by a test."""

    def __init__(self, pid: int) -> None:
        loop = asyncio.get_running_loop()
        self.name, self.pid = "worker-1", pid
        self.opened: asyncio.Future[str | None] = loop.create_future()
        self.ready: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[int] = loop.create_future()
        self.failure = None
        self.wedged: str | None = None
        self.worked = 0.0
        self.sent: list[int] = []

    def send(self, number: signal.Signals) -> None:
        self.sent.append(number)

    def answer(self) -> None:
        """Make it open and ready, for a long time."""
        self.opened.set_result(None)
        self.ready.set_result(None)
        self.worked = 60.0


class Starts:
    """Starts of processes. Starts whose numbers are in `refused` fail for lack of resources."""

    def __init__(self, *refused: int) -> None:
        self.refused = refused
        self.count = 0
        self.started: list[Double] = []

    def __call__(self, _name: str) -> Child:
        self.count += 1
        if self.count in self.refused:
            raise NO_ROOM
        self.started.append(Double(self.count))
        return cast(Child, self.started[-1])


def run_slot(
    starts: Starts, use: Callable[[ProcessSlot, "asyncio.Task[None]"], Awaitable[None]]
) -> list[dict[str, Any]]:
    """Run `use` with the slot; return the errors that the event loop reported as unhandled."""
    unheard: list[dict[str, Any]] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        post = ProcessSlot("worker-1", starts)
        keeping = asyncio.ensure_future(post.supervise())
        try:
            await use(post, keeping)
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])

    asyncio.run(run())
    return unheard


def test_failed_process_start_is_retried(caplog: pytest.LogCaptureFixture) -> None:
    starts = Starts(2, 3)

    async def use(_: ProcessSlot, keeping: "asyncio.Task[None]") -> None:
        await until(lambda: bool(starts.started))
        starts.started[0].answer()
        await asyncio.sleep(0)
        starts.started[0].ended.set_result(-9)
        await until(lambda: keeping.done() or len(starts.started) == 2)
        assert not keeping.done()

    assert not run_slot(starts, use)
    told = [record for record in caplog.records if record.message == "cannot start process: retrying"]
    assert [vars(record)["reason"] for record in told] == [NO_ROOM.strerror] * 2


def test_failed_first_start_ends_the_slot() -> None:
    async def use(_: ProcessSlot, keeping: "asyncio.Task[None]") -> None:
        await until(keeping.done)
        assert keeping.exception() is NO_ROOM

    run_slot(Starts(1), use)


def test_process_continues_if_its_replacement_cannot_start(caplog: pytest.LogCaptureFixture) -> None:
    starts = Starts(2)

    async def use(post: ProcessSlot, keeping: "asyncio.Task[None]") -> None:
        await until(lambda: bool(starts.started))
        (old,) = starts.started
        old.answer()
        async with asyncio.timeout(10):
            await asyncio.wait([asyncio.ensure_future(post.replace()), keeping], return_when=asyncio.FIRST_COMPLETED)
        assert not keeping.done()
        assert not old.sent

    run_slot(starts, use)
    assert "keeping the running process: its replacement did not start" in caplog.text


def test_stop_during_a_replacement_notifies_both_processes() -> None:
    starts = Starts()

    async def use(post: ProcessSlot, keeping: "asyncio.Task[None]") -> None:
        await until(lambda: bool(starts.started))
        (old,) = starts.started
        old.answer()
        replacing = asyncio.ensure_future(post.replace())
        await until(lambda: len(starts.started) == 2)
        starts.started[1].answer()
        await until(lambda: old.sent == [RETIRE_SIGNAL])
        replacing.cancel()
        keeping.cancel()
        await asyncio.wait([replacing, keeping])
        old.ended.set_result(0)
        await asyncio.sleep(0)

    assert run_slot(starts, use) == []


def test_unready_process_is_stopped_without_a_drain() -> None:
    starts = Starts()

    async def use(post: ProcessSlot, keeping: "asyncio.Task[None]") -> None:
        await until(lambda: bool(starts.started))
        keeping.cancel()
        await asyncio.wait([keeping])
        stopping = asyncio.ensure_future(post.stop(60.0))
        await until(lambda: starts.started[0].sent == [signal.SIGTERM])
        starts.started[0].ended.set_result(-signal.SIGTERM)
        assert await stopping == 0

    run_slot(starts, use)


def test_workers_stop_within_the_drain_time(tmp_path: Path) -> None:
    usual, patient = Settings(tmp_path), Settings(tmp_path, drain_time=300_000, drain_delay=45_000)
    assert worker_stop_time(usual) == 12
    assert worker_stop_time(patient) == 300 + 45 + 2


def test_unwatchable_process_leaves_no_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []

    def refuse(pid: int) -> int:
        pids.append(pid)
        raise NO_ROOM

    monkeypatch.setattr(os, "pidfd_open", refuse)
    settings = Settings(tmp_path)

    async def run() -> None:
        with pytest.raises(OSError, match="unavailable"):
            Child(
                "worker-1", ("/bin/cat",), BootstrapMessage(os.getpid(), -1, settings), Timeouts.from_settings(settings)
            )

    before = descriptors()
    asyncio.run(run())
    # Descriptors of earlier tests may be closed meanwhile.
    assert descriptors() <= before
    with pytest.raises(ChildProcessError):
        os.waitpid(*pids, os.WNOHANG)
