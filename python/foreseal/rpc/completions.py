"""Calls on worker threads, and the one event that brings their outcomes, and notices, to the event loop."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from foreseal.rpc.core_protocol import CallOutcome, Core
from foreseal.rpc.subscription_hub import SubscriptionHub

if TYPE_CHECKING:
    from foreseal._core import PendingBody

log = logging.getLogger(__name__)


class PendingCall(asyncio.Future[CallOutcome]):
    """The future outcome of a call on a worker thread."""

    ticket = 0
    """The ticket of the call."""


class BodyWait:
    """A wait for calls of a body. It calls its callback at once, not in the next iteration of the loop."""

    __slots__ = ("_body", "_future", "_is_done", "_notify")

    def __init__(self, body: "PendingBody") -> None:
        self._body = body
        self._is_done = False
        self._notify: Callable[[], None] | None = None
        self._future: asyncio.Future[None] | None = None

    def done(self) -> bool:
        """Return True if it is over."""
        return self._is_done

    def notify(self, notify: Callable[[], None]) -> None:
        """Call `notify`, which must not raise, when the wait is over."""
        self._notify = notify

    async def wait(self) -> None:
        """Wait until it is over."""
        if not self._is_done:
            self._future = asyncio.get_running_loop().create_future()
            await self._future

    def cancel(self) -> bool:
        """End it without its callback, and cancel the calls, except submissions; return True if it was not over."""
        was_done, self._is_done = self._is_done, True
        if not was_done:
            self._body.cancel()
        if self._future is not None:
            self._future.cancel()
        return not was_done

    def set_result(self, _outcome: object) -> None:
        """End it."""
        self._is_done = True
        if self._notify is not None:
            self._notify()
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class Completions:
    """Pending outcomes by ticket. Used from the event loop's thread only."""

    def __init__(self, core: Core) -> None:
        self.ticket = 0
        """The ticket of the next call."""
        self.hub = SubscriptionHub(core)
        """Dispatches the notices that arrive through the same event."""
        self._core = core
        self._due: dict[int, asyncio.Future[Any] | BodyWait] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._due)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Register the core's event descriptor with `loop`."""
        self._loop = loop
        loop.add_reader(self._core.event_fd(), self._drain)

    def detach(self) -> None:
        """Unregister the descriptor and cancel the pending outcomes, which will never arrive."""
        if self._loop is not None:
            self._loop.remove_reader(self._core.event_fd())
            self._loop = None
        for future in self._due.values():
            future.cancel()
        self._due.clear()

    def register_call(self) -> PendingCall:
        """Return the future outcome of the call just submitted under `ticket`."""
        future = PendingCall(loop=self._attached())
        future.ticket = self.ticket
        self._due[self.ticket] = future
        self.ticket += 1
        return future

    def wait_for_body(self, body: "PendingBody") -> BodyWait:
        """Return the wait of a body."""
        self._attached()
        wait = self._due[body.ticket] = BodyWait(body)
        return wait

    def wake(self, ticket: int) -> None:
        """End the wait under this ticket."""
        self._set(ticket, None)

    def cancel(self, call: asyncio.Future[Any]) -> None:
        """Cancel a call whose outcome is no longer needed; a submission continues."""
        call.cancel()
        if isinstance(call, PendingCall):
            self._core.cancel(call.ticket)

    async def wait_until_idle(self) -> None:
        """Wait until no outcome is pending."""
        if self._due and self._loop is not None:
            self._idle = self._loop.create_future()
            await self._idle

    def _attached(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the core queued a call, but no event loop is attached to receive its result")
        return self._loop

    def _drain(self) -> None:
        outcomes, notices = self._core.drain()
        for ticket, outcome in outcomes:
            try:
                self._set(ticket, outcome)
            except Exception:  # the others belong to other clients
                log.exception("call failed")
        for notice in notices:
            self.hub.deliver(notice)

    def _set(self, ticket: int, outcome: Any) -> None:
        due = self._due.pop(ticket, None)
        # The client may have disconnected, which ended the task that waited.
        if due is not None and not due.done():
            due.set_result(outcome)
        if self._idle is not None and not self._due:
            if not self._idle.done():
                self._idle.set_result(None)
            self._idle = None
