"""Starts the sequencer and its workers, keeps them running, and stops them in order."""

import asyncio
import contextlib
import dataclasses
import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from foreseal.server.processes.process_table import ProcessTable, create_process_table
from foreseal.server.processes.rate_limit_memory import create_rate_limit_memory
from foreseal.server.settings import Settings
from foreseal.server.settings.access import RATE_LIMITED_CALLERS
from foreseal.server.sockets.address import format_url
from foreseal.server.sockets.listening import listen
from foreseal.supervisor.bootstrap import BootstrapMessage
from foreseal.supervisor.child import Child
from foreseal.supervisor.exit_status import FAILED, describe_exit
from foreseal.supervisor.feed_socket import feed_path
from foreseal.supervisor.process_slot import ProcessSlot
from foreseal.supervisor.stall_detector import Timeouts

log = logging.getLogger(__name__)

SEQUENCER = "sequencer"
# -P: the current directory is not a source of modules; it may have a click.py.
COMMAND = (sys.executable, "-P", "-m", "foreseal.supervisor.process")
# Seconds of the stop time that are reserved for the sequencer, even after a worker that has to be killed.
_SEQUENCER_STOP_TIME = 3.0
# Seconds after which a supervisor that cannot end its processes exits and leaves them to the kernel.
_LAST_RESORT = 2.0


def supervise(
    settings: Settings,
    on_listening: Callable[[str], None],
    on_admin: Callable[[str], None],
    on_explorer: Callable[[str], None] = lambda _: None,
    command: Sequence[str] = COMMAND,
) -> int:
    """Run a sequencer and its workers until SIGINT or SIGTERM. Return the exit code.

    A second of these signals kills all at once and raises KeyboardInterrupt. SIGHUP replaces the workers one by one.
    `on_listening` gets the URL once a worker answers, `on_admin` the admin URL if there is one, and
    `on_explorer` that of the explorer if it has a listener of its own. Raises `AddressError`,
    `SettingsError`, OSError, and `NodeError` for permanent errors. This process starts no thread.
    """
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(listen(settings.listen.host, settings.listen.port))
        explorer = None
        if settings.explorer_listen is not None:
            explorer = stack.enter_context(listen(*settings.explorer_listen))
        feed = feed_path(settings.datadir, os.environ, stack)
        buckets = create_rate_limit_memory(settings.scaled_entries(RATE_LIMITED_CALLERS))
        stack.callback(os.close, buckets)
        processes = create_process_table([SEQUENCER, *worker_names(settings)])
        stack.callback(os.close, processes)

        async def run() -> int:
            supervisor = Supervisor(settings, (listening, explorer), (buckets, processes), str(feed), command)
            return await supervisor.run(on_listening, on_admin, on_explorer)

        return asyncio.run(run())


def worker_stop_time(settings: Settings) -> float:
    """Return the seconds after which a stopping worker is killed. The sequencer has the rest of the stop time."""
    return settings.stop_time - _SEQUENCER_STOP_TIME


def worker_names(settings: Settings) -> list[str]:
    """Return the names of the workers."""
    return [f"worker-{number + 1}" for number in range(settings.listen.workers)]


class Supervisor:
    """The processes of one node. Used from the event loop's thread only."""

    def __init__(
        self,
        settings: Settings,
        sockets: tuple[socket.socket, socket.socket | None],
        shared: tuple[int, int],
        feed: str,
        command: Sequence[str],
    ) -> None:
        """Create the slots.

        `sockets` are those of the public listener and, if it has its own, of the explorer. `shared` are the descriptors
        of the memory for rate limits and for metrics of processes.
        """
        self._settings = settings
        self._listening, self._explorer = sockets
        self._buckets, self._processes = shared
        self._table = table = ProcessTable(self._processes, writable=True)
        self._timeouts = Timeouts.from_settings(settings)
        self._feed = feed
        self._command = command
        self._sequencer = ProcessSlot(SEQUENCER, self._start_sequencer, alone=True, on_restart=table.record_restart)
        self._workers = [
            ProcessSlot(name, self._start_worker, on_restart=table.record_restart) for name in worker_names(settings)
        ]
        self._slot_tasks: set[asyncio.Task[None]] = set()
        # Done, with the exception, when a slot failed permanently.
        self._vacant: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(
        self,
        on_listening: Callable[[str], None],
        on_admin: Callable[[str], None],
        on_explorer: Callable[[str], None],
    ) -> int:
        """See `supervise`."""
        signals = _ReceivedSignals()
        work = asyncio.ensure_future(self._work(signals, on_listening, on_admin, on_explorer))
        try:
            stopping = asyncio.ensure_future(signals.stop.wait())
            ends: set[asyncio.Future[Any]] = {stopping, work, self._vacant}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            work.cancel()
            signals.stop.clear()
            code = await self._stop(signals)
            if self._vacant.done():
                self._vacant.result()
            elif not stopping.done():
                work.result()
            return code
        finally:
            for slot in (self._sequencer, *self._workers):
                slot.kill()

    async def _work(
        self,
        signals: "_ReceivedSignals",
        on_listening: Callable[[str], None],
        on_admin: Callable[[str], None],
        on_explorer: Callable[[str], None],
    ) -> None:
        self._start_slot(self._sequencer)
        # The sequencer now has the data directory locked, and workers find a store in it.
        admin = await self._sequencer.opened
        for worker in self._workers:
            self._start_slot(worker)
        await asyncio.wait([worker.opened for worker in self._workers], return_when=asyncio.FIRST_COMPLETED)
        on_listening(self._url(self._listening))
        if self._explorer is not None:
            on_explorer(f"{self._url(self._explorer)}/explorer")
        if admin is not None:
            on_admin(admin)
        await self._replace_when(signals.replace)

    def _url(self, listening: socket.socket) -> str:
        address, port = listening.getsockname()[:2]
        return format_url(address, port, self._settings.listen.scheme)

    async def _replace_when(self, requested: asyncio.Event) -> None:
        while True:
            await requested.wait()
            requested.clear()
            log.info("replacing workers one by one")
            for worker in self._workers:
                await worker.replace()
            log.info("workers replaced")

    async def _stop(self, signals: "_ReceivedSignals") -> int:
        """Stop all in order, or kill all on a second signal. Return the exit code."""
        for task in self._slot_tasks:
            task.cancel()
        again = asyncio.ensure_future(signals.stop.wait())
        stopping = asyncio.ensure_future(self._stop_in_order())
        await asyncio.wait({again, stopping}, return_when=asyncio.FIRST_COMPLETED)
        again.cancel()
        if not stopping.done():
            stopping.cancel()
            raise KeyboardInterrupt
        return stopping.result()

    async def _stop_in_order(self) -> int:
        """Stop workers first: their pending calls need the sequencer."""
        limit = self._settings.stop_time
        # The timer's thread needs nothing of this one, even while a log line blocks; so it writes none. The kernel
        # kills the other processes with this one.
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        faulthandler.dump_traceback_later(limit + _LAST_RESORT, exit=True, file=nothing)
        end = monotonic() + limit
        await asyncio.gather(*(worker.stop(worker_stop_time(self._settings)) for worker in self._workers))
        code = await self._sequencer.stop(end - monotonic())
        if code:
            log.error("the sequencer did not stop cleanly", extra={"ended": describe_exit(code)})
        return FAILED if code else 0

    def _start_slot(self, slot: ProcessSlot) -> None:
        task = asyncio.ensure_future(slot.supervise())
        self._slot_tasks.add(task)
        task.add_done_callback(self._on_slot_end)

    def _on_slot_end(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._vacant.done():
            self._vacant.set_exception(error)

    def _start_sequencer(self, name: str) -> Child:
        # Without the explorer's listener, which the workers serve.
        settings = dataclasses.replace(_named(self._settings, name), explorer_listen=None)
        bootstrap = self._bootstrap(settings, {"feed": self._feed})
        return self._start(name, dataclasses.replace(bootstrap, processes=self._processes))

    def _start_worker(self, name: str) -> Child:
        role = {"follow": self._feed, "name": name}
        # Administrators call the sequencer.
        settings = dataclasses.replace(_named(self._settings, name), admin=None)
        bootstrap = self._bootstrap(settings, role)
        explorer = None if self._explorer is None else self._explorer.fileno()
        bootstrap = dataclasses.replace(bootstrap, socket=self._listening.fileno(), explorer_socket=explorer)
        return self._start(name, dataclasses.replace(bootstrap, buckets=self._buckets))

    def _bootstrap(self, settings: Settings, role: dict[str, str]) -> BootstrapMessage:
        return BootstrapMessage(os.getpid(), -1, settings, role, heartbeat_interval=self._timeouts.interval)

    def _start(self, name: str, bootstrap: BootstrapMessage) -> Child:
        return Child(name, self._command, bootstrap, self._timeouts, lambda: self._table.record_heartbeat(name))


def _named(settings: Settings, process: str) -> Settings:
    """Return the settings of a process with its name for log lines and metrics."""
    return dataclasses.replace(settings, log=dataclasses.replace(settings.log, process=process))


class _ReceivedSignals:
    """Signals received by this process."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.replace = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop.set)
        loop.add_signal_handler(signal.SIGHUP, self.replace.set)
