"""A slot of the node for one process, and the processes that occupy it one after the other.

start -> opened -> ready -> died ------> (backoff) -> start <- (backoff) <- no resources for it
                     |
                     +-- replace: the next one starts -> it is ready -> the old one drains -> ended
                                    |
                                    +-- it died: the old one stays
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

from foreseal.server.processes.shared_socket import RETIRE_SIGNAL
from foreseal.supervisor.backoff import RestartBackoff
from foreseal.supervisor.child import Child
from foreseal.supervisor.exit_status import describe_exit

log = logging.getLogger(__name__)


class ProcessSlot:
    """Keeps one process running. Used from the event loop's thread only."""

    def __init__(
        self,
        name: str,
        start: Callable[[str], Child],
        *,
        alone: bool = False,
        on_restart: Callable[[str, str], None] = lambda _name, _reason: None,
    ) -> None:
        """Create a slot. `start` starts a process under a name.

        `on_restart` gets name and reason (died, wedged) of each restart. `alone` means that no other process does its
        work: a permanent error then ends it even after it had worked.
        """
        self.name = name
        self.opened: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """Done when a process of this slot first answers, with the admin URL if there is one."""
        self._start = start
        self._alone = alone
        self._on_restart = on_restart
        self._backoff = RestartBackoff()
        self._child: Child | None = None
        # All running processes: the current one, its replacement, those that drain.
        self._running: set[Child] = set()
        self._worked = False
        # Set while a replacement is requested; done when it is over.
        self._replacement: asyncio.Future[None] | None = None
        self._replacement_requested = asyncio.Event()

    async def supervise(self) -> None:
        """Start a process and restart it whenever it dies, until cancelled. Raises errors that a retry cannot fix."""
        while True:
            child = self._child = await self._begin_with_retries()
            while not child.ended.done():
                await _first(child.ended, asyncio.ensure_future(self._replacement_requested.wait()))
                if self._replacement_requested.is_set():
                    child = await self._replace(child)
            await self._wait_after(child)

    async def replace(self) -> None:
        """Replace the running process; return when the old one has ended."""
        self._replacement = asyncio.get_running_loop().create_future()
        self._replacement_requested.set()
        await self._replacement

    async def stop(self, seconds: float) -> int:
        """Stop all processes, and kill those that take longer than `seconds`. Return the exit code of the newest.

        Return 0 if none ran, or if the newest had not opened yet: it had no state to save. `supervise` must have been
        cancelled.
        """
        running = tuple(self._running)
        for child in running:
            child.send(signal.SIGTERM)
        if running:
            await asyncio.wait([child.ended for child in running], timeout=seconds)
        for child in running:
            if not child.ended.done():
                log.warning("process did not stop in time: killing", extra=_fields(child))
                child.send(signal.SIGKILL)
                await child.ended
        newest = self._child
        return newest.ended.result() if newest in running and newest.opened.done() else 0

    def kill(self) -> None:
        """Kill all processes at once."""
        for child in self._running:
            child.send(signal.SIGKILL)

    async def _begin_with_retries(self) -> Child:
        """Start a process, with retries while resources are lacking. Raises OSError if none ever worked."""
        while True:
            try:
                return self._begin()
            except OSError as error:
                if not self._worked:
                    raise
                fields, wait = self._unstarted(error), self._backoff.next(0.0)
                log.error("cannot start process: retrying", extra=fields | {"after": wait})  # noqa: TRY400
                await asyncio.sleep(wait)

    def _unstarted(self, error: OSError) -> dict[str, object]:
        return {"child": self.name, "reason": error.strerror or str(error)}

    def _begin(self) -> Child:
        child = self._start(self.name)
        self._running.add(child)
        child.ended.add_done_callback(lambda _: self._running.discard(child))
        child.opened.add_done_callback(self._on_opened)
        child.ready.add_done_callback(lambda _: self._on_ready(child))
        return child

    def _on_opened(self, opened: "asyncio.Future[str | None]") -> None:
        if not self.opened.done():
            self.opened.set_result(opened.result())

    def _on_ready(self, child: Child) -> None:
        self._worked = True
        log.info("process ready", extra=_fields(child))

    async def _replace(self, old: Child) -> Child:
        """Start the replacement of `old` and return it, or return `old` if that fails."""
        assert self._replacement is not None, "a replacement was requested"
        self._replacement_requested.clear()
        replacement = self._replacement
        stays = "keeping the running process: its replacement did not start"
        try:
            new = self._begin()
        except OSError as error:
            log.error(stays, extra=_fields(old) | self._unstarted(error))  # noqa: TRY400
            _done(replacement)
            return old
        await _first(new.ready, new.ended, old.ended)
        if new.ended.done():
            log.error(stays, extra=_fields(old) | _why(new))
            _done(replacement)
            return old
        self._child = new
        old.send(RETIRE_SIGNAL)
        old.ended.add_done_callback(lambda _: _done(replacement))
        return new

    async def _wait_after(self, child: Child) -> None:
        """Wait for the backoff after a process died. Raises its failure if that is permanent."""
        failure = child.failure
        if failure is not None and (not self._worked or (self._alone and failure.is_usage_error)):
            raise failure
        wait = self._backoff.next(child.worked)
        self._on_restart(self.name, "died" if child.wedged is None else "wedged")
        log.error("process died: restarting", extra=_fields(child) | _why(child) | {"after": wait})
        await asyncio.sleep(wait)


async def _first(*futures: "asyncio.Future[Any]") -> None:
    """Wait for the first of them, and cancel those that are tasks."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    for future in futures:
        if isinstance(future, asyncio.Task):
            future.cancel()


def _done(replacement: "asyncio.Future[None]") -> None:
    """Mark a replacement as over; its caller may have stopped waiting."""
    if not replacement.done():
        replacement.set_result(None)


def _fields(child: Child) -> dict[str, object]:
    return {"child": child.name, "pid": child.pid}


def _why(child: Child) -> dict[str, object]:
    if child.wedged is not None:
        reason = f"wedged: {child.wedged}"
    else:
        reason = "no reason reported" if child.failure is None else child.failure.message
    return {"ended": describe_exit(child.ended.result()), "reason": reason}
