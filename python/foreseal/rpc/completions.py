"""Calls on worker threads, and the one event that brings their outcomes, and notices, to the event loop."""

import asyncio
from typing import Any

from foreseal.rpc.core_protocol import CallOutcome, Core
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.submissions import SubmittedBody
from foreseal.rpc.subscription_hub import SubscriptionHub


class PendingCall(asyncio.Future[CallOutcome]):
    """The future outcome of a call on a worker thread."""

    ticket = 0
    """The ticket of the call."""
    limiter: RateLimiter | None = None
    """Rate limiter of the caller, which counts the call until the core has ended it."""


class Completions:
    """Pending outcomes by ticket. Used from the event loop's thread only."""

    def __init__(self, core: Core) -> None:
        self.ticket = 0
        """The ticket of the next call."""
        self.hub = SubscriptionHub(core)
        """Dispatches the notices that arrive through the same event."""
        self._core = core
        self._due: dict[int, asyncio.Future[Any] | SubmittedBody] = {}
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

    def register_call(self, limiter: RateLimiter | None = None) -> PendingCall:
        """Return the future outcome of the call just submitted under `ticket` by the caller with this rate limiter."""
        if self._loop is None:
            raise RuntimeError("the core queued a call, but no event loop is attached to receive its result")
        future = PendingCall(loop=self._loop)
        future.ticket, future.limiter = self.ticket, limiter
        if limiter is not None:
            limiter.running += 1
        self._due[self.ticket] = future
        self.ticket += 1
        return future

    def cancel(self, call: asyncio.Future[Any]) -> None:
        """Cancel a call whose outcome is no longer needed; a submission continues."""
        call.cancel()
        if isinstance(call, PendingCall):
            self._core.cancel(call.ticket)

    def register_submission(self, submission: SubmittedBody) -> None:
        """Register a body just submitted under `ticket`, to receive its outcomes."""
        self._due[self.ticket] = submission
        self.ticket += 1

    async def wait_until_idle(self) -> None:
        """Wait until no outcome is pending."""
        if self._due and self._loop is not None:
            self._idle = self._loop.create_future()
            await self._idle

    def _drain(self) -> None:
        outcomes, notices = self._core.drain()
        for ticket, outcome in outcomes:
            future = self._due.pop(ticket, None)
            if isinstance(future, PendingCall) and future.limiter is not None:
                future.limiter.running -= 1
            # The client may have disconnected, which ended the task that waited.
            if future is not None and not future.done():
                future.set_result(outcome)
        for notice in notices:
            self.hub.deliver(notice)
        if self._idle is not None and not self._due:
            if not self._idle.done():
                self._idle.set_result(None)
            self._idle = None
