"""One place in the node that is always to be filled, and the processes that fill it one after the other.

start -> opened -> ready -> died ------> (backoff) -> start <- (backoff) <- no room for it
                     |
                     +-- replace: the next one starts -> it is ready -> the old one leaves -> gone
                                    |
                                    +-- it died: the old one stays
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

from foreseal.server.shared import LEAVE
from foreseal.supervisor.backoff import Backoff
from foreseal.supervisor.child import Child
from foreseal.supervisor.endings import named

log = logging.getLogger(__name__)


class Post:
    """Keeps one process running. Used from the event loop's thread only."""

    def __init__(
        self,
        name: str,
        start: Callable[[str], Child],
        *,
        alone: bool = False,
        on_restart: Callable[[str, str], None] = lambda _name, _reason: None,
    ) -> None:
        """`start` starts a process under a name. `on_restart` gets name and reason (died, wedged) of each restart.

        `alone` says that nobody else does its work: what cannot be tried again ends it also after it had worked.
        """
        self.name = name
        self.opened: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """Done when a process of it answers for the first time, with the URL for administrators if there is one."""
        self._start = start
        self._alone = alone
        self._on_restart = on_restart
        self._backoff = Backoff()
        self._child: Child | None = None
        # All that run: the one above, one that is to take its place, those that leave.
        self._running: set[Child] = set()
        self._worked = False
        # Set while a replacement is wanted; done when it is over.
        self._wanted: asyncio.Future[None] | None = None
        self._asked = asyncio.Event()

    async def keep(self) -> None:
        """Start a process, and another one whenever it dies, until cancelled. Raises what cannot be tried again."""
        while True:
            child = self._child = await self._begin_at_last()
            while not child.ended.done():
                await _first(child.ended, asyncio.ensure_future(self._asked.wait()))
                if self._asked.is_set():
                    child = await self._replace(child)
            await self._wait_after(child)

    async def replace(self) -> None:
        """Let another process take the place of the one that runs; returns when that one is gone."""
        self._wanted = asyncio.get_running_loop().create_future()
        self._asked.set()
        await self._wanted

    async def stop(self, seconds: float) -> int:
        """Tell all to stop, and kill those that take longer; the exit code of the newest.

        0 if none ran, or if that one was not open yet: it had nothing to put in order. `keep` must have been cancelled.
        """
        running = tuple(self._running)
        for child in running:
            child.send(signal.SIGTERM)
        if running:
            await asyncio.wait([child.ended for child in running], timeout=seconds)
        for child in running:
            if not child.ended.done():
                log.warning("a process did not stop in time: it is killed", extra=_fields(child))
                child.send(signal.SIGKILL)
                await child.ended
        newest = self._child
        return newest.ended.result() if newest in running and newest.opened.done() else 0

    def kill(self) -> None:
        """End all at once."""
        for child in self._running:
            child.send(signal.SIGKILL)

    async def _begin_at_last(self) -> Child:
        """Start a process, as soon as the machine has room for one. Raises OSError if that was never known to work."""
        while True:
            try:
                return self._begin()
            except OSError as error:
                if not self._worked:
                    raise
                fields, wait = self._unstarted(error), self._backoff.next(0.0)
                log.error("a process cannot be started: it is tried again", extra=fields | {"after": wait})  # noqa: TRY400
                await asyncio.sleep(wait)

    def _unstarted(self, error: OSError) -> dict[str, object]:
        return {"child": self.name, "reason": error.strerror or str(error)}

    def _begin(self) -> Child:
        child = self._start(self.name)
        self._running.add(child)
        child.ended.add_done_callback(lambda _: self._running.discard(child))
        child.opened.add_done_callback(self._hear_opened)
        child.ready.add_done_callback(lambda _: self._hear_ready(child))
        return child

    def _hear_opened(self, opened: "asyncio.Future[str | None]") -> None:
        if not self.opened.done():
            self.opened.set_result(opened.result())

    def _hear_ready(self, child: Child) -> None:
        self._worked = True
        log.info("a process is ready", extra=_fields(child))

    async def _replace(self, old: Child) -> Child:
        """The process that takes the place of `old`, or `old` where that fails."""
        assert self._wanted is not None, "it was asked for"
        self._asked.clear()
        wanted = self._wanted
        stays = "a process stays: the one to take its place did not start"
        try:
            new = self._begin()
        except OSError as error:
            log.error(stays, extra=_fields(old) | self._unstarted(error))  # noqa: TRY400
            _done(wanted)
            return old
        await _first(new.ready, new.ended, old.ended)
        if new.ended.done():
            log.error(stays, extra=_fields(old) | _why(new))
            _done(wanted)
            return old
        self._child = new
        old.send(LEAVE)
        old.ended.add_done_callback(lambda _: _done(wanted))
        return new

    async def _wait_after(self, child: Child) -> None:
        """A process died: wait as long as it takes. Raises why it cannot be started, where that is for ever."""
        failure = child.failure
        if failure is not None and (not self._worked or (self._alone and failure.wrong_use)):
            raise failure
        wait = self._backoff.next(child.worked)
        self._on_restart(self.name, "died" if child.wedged is None else "wedged")
        log.error("a process died: it is started again", extra=_fields(child) | _why(child) | {"after": wait})
        await asyncio.sleep(wait)


async def _first(*futures: "asyncio.Future[Any]") -> None:
    """Wait for the first of them, and give up those that are tasks."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    for future in futures:
        if isinstance(future, asyncio.Task):
            future.cancel()


def _done(wanted: "asyncio.Future[None]") -> None:
    """A replacement is over; who asked for it may wait no more."""
    if not wanted.done():
        wanted.set_result(None)


def _fields(child: Child) -> dict[str, object]:
    return {"child": child.name, "pid": child.pid}


def _why(child: Child) -> dict[str, object]:
    if child.wedged is not None:
        reason = f"it was wedged: {child.wedged}"
    else:
        reason = "it did not say why" if child.failure is None else child.failure.message
    return {"ended": named(child.ended.result()), "reason": reason}
