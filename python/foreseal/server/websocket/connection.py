"""One WebSocket connection: a reader of requests, a writer that empties the queue, and the closing handshake."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from foreseal.rpc.dispatch import HttpReply
from foreseal.rpc.outgoing_queue import (
    NOTIFICATION_END,
    NotificationBatch,
    NotificationCounters,
    OutgoingQueue,
    QueueBudget,
)
from foreseal.rpc.session import RequestExchange
from foreseal.server.auth.callers import Caller
from foreseal.server.http.handler import HttpHandler
from foreseal.server.websocket.socket import ClientDisconnected, SideState, WebSocket

if TYPE_CHECKING:
    from foreseal._core import PendingBody

log = logging.getLogger(__name__)

NORMAL, GOING_AWAY, POLICY_VIOLATION, TOO_BIG, INTERNAL, TRY_AGAIN_LATER = 1000, 1001, 1008, 1009, 1011, 1013

CLOSE_TIME = 10.0
"""Seconds that a client has to accept the close frame; then the connection is cut."""
_FLUSH_TIME = 1.0
# Seconds without reading after a rejection: doubled with each consecutive one.
_FIRST_DELAY, _MAX_DELAY, _DOUBLINGS = 0.01, 1.0, 7
# Size in bytes above which a held body or answer is counted.
_COUNTED = 4096
# Frames after which the task yields to other connections, in case the server accepts frames without waiting.
_FRAMES_PER_ITERATION = 64

Ending = tuple[int, str]
"""Code and reason of a close frame."""


class WebSocketConnection:
    """An accepted connection. Used from the event loop's thread only."""

    def __init__(
        self,
        websocket: WebSocket,
        handler: HttpHandler,
        caller: Caller,
        traffic: NotificationCounters,
        max_sends: int = 1,
    ) -> None:
        """Create the connection. At most `max_sends` queued messages are sent concurrently."""
        limits = caller.tier.limits
        self.outbox = OutgoingQueue(limits.outgoing_bytes, limits.outgoing_frames, traffic)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended completely."""
        self.close_time = CLOSE_TIME
        """Time limit for the close frame in seconds."""
        self.is_slow = False
        """True if it was closed by `abort`."""
        self.idle_checks = 0
        """Number of checks of `WebSocketConnections` since the last traffic in either direction."""
        self._websocket = websocket
        self._handler = handler
        self.caller = caller
        self._largest = limits.body
        self._max_calls = limits.connection_calls
        self._max_sends = max_sends
        self._frames = 0
        self._refusals = 0
        # Seconds without reading before the next message, after a rejection.
        self._delay = 0.0
        self._session = caller.tier.dispatcher.session(self, caller.limiter)
        self._answer_frames = caller.tier.dispatcher.respond_to_frames
        # Close code and reason; None if the client has disconnected.
        self._ending: asyncio.Future[Ending | None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: set[asyncio.Task[None]] = set()
        # Bytes of the bodies of calls, and of the answer that is being written.
        self._body_bytes = self._written = 0
        # The newest request, while later ones must wait for it.
        self._holding: RequestExchange | None = None
        # Held by the running batch. Each batch may collect as much as the largest answer, even if its client does not
        # read.
        self._batch = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve it until one side closes it."""
        ending = None
        try:
            self.spawn(self._write())
            self._reader = self.spawn(self._read())
            self._websocket.start = self.start_request
            if self.caller.is_permanent and self._handler.tracer is None:
                self._websocket.answer_frames = self.answer_frames
                self._websocket.start_body = self.start_body
            ending = await self._ending
        finally:
            self._websocket.start = self._websocket.answer_frames = self._websocket.start_body = None
            self._session.close()
            # Cancelling also drops their pending messages in the server, which would delay the close frame.
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.outbox.clear()
        if ending is not None and self._websocket.client is SideState.OPEN:
            with contextlib.suppress(TimeoutError, ClientDisconnected):
                await asyncio.wait_for(self._websocket.close(*ending), self.close_time)

    def end(self, code: int, reason: str) -> None:
        """Close it now; queued messages are dropped."""
        self._end((code, reason))

    def abort(self, reason: str) -> None:
        """Close it because its client does not read its messages, or cannot receive all of them."""
        self.is_slow = self.is_slow or not self._ending.done()
        self._end((TRY_AGAIN_LATER, reason))

    def start_request(self, body: bytes) -> bool:
        """Start a request at once if nothing blocks it; False leaves it to the reader."""
        held = self._holding is not None and not self._holding.is_detached
        if held or self._delay or self._is_full() or self._ending.done() or len(body) > self._largest:
            return False
        self.idle_checks = 0
        self.close_if_key_invalid()
        if not self._ending.done():
            self._begin(body)
        return True

    def answer_frames(self, data: bytes) -> "tuple[bytes, int, PendingBody | None] | None":
        """Answer the leading frames of `data`; return the response frames and the number of bytes consumed.

        A body that is not answered is to be passed to `start_body` once the frames are sent. Return None if the first
        frame must be processed by itself: calls are in progress, or reading pauses. For callers without a key.
        """
        if self._calls or self._delay or not self.outbox.is_empty or self._ending.done():
            return None
        self.idle_checks = 0
        return self._answer_frames(data, self._largest, self.caller.limiter)

    def start_body(self, body: "PendingBody") -> None:
        """Start a body that `answer_frames` has returned."""
        exchange, limiter = RequestExchange(self._session), self.caller.limiter
        reply = self.caller.tier.dispatcher.answer_entered(body, exchange, limiter)
        self._continue(exchange, reply, body.size)

    def notify_now(self, prefix: bytes, messages: NotificationBatch) -> bool:
        """Send notifications directly if the queue is empty and the client accepts them; True if they were sent."""
        outbox = self.outbox
        if outbox.answers.frames or outbox.notifications.frames or self._ending.done():
            return False
        if not self._websocket.notify_now(prefix, messages):
            return False
        self.idle_checks = 0
        outbox.traffic.notified += len(messages.texts)
        return True

    def finish(self) -> None:
        """Stop reading, answer calls in progress, then close it: the server is shutting down."""
        self.spawn(self._finish())

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run `work` until the connection ends; the connection ends if it fails."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def check_idle(self, limit: int) -> None:
        """Close it if there was no traffic for more than `limit` checks."""
        self.idle_checks += 1
        if self.idle_checks <= limit or self._calls:
            return
        if self.outbox.answers.frames or self.outbox.notifications.frames:
            self.abort("the client does not read")
        elif not len(self._session):
            self._end((NORMAL, "idle without subscriptions"))

    def close_if_key_invalid(self) -> None:
        """Close it if the key that opened it is no longer valid."""
        if not self._handler.is_valid(self.caller):
            self._end((POLICY_VIOLATION, "the API key was revoked or has expired"))

    def _end(self, ending: Ending | None) -> None:
        if not self._ending.done():
            self._ending.set_result(ending)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._calls.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ClientDisconnected):
            self._end(None)
        elif error is not None:
            log.error("connection failed", exc_info=error)
            self._end((INTERNAL, "internal error"))

    async def _read(self) -> None:
        while True:
            await self._wait_for_room()
            body = await self._websocket.receive()
            if body is None:
                self._end(None)
                return
            self.idle_checks = 0
            if len(body) > self._largest:
                self._end((TOO_BIG, f"a message may have at most {self._largest} bytes"))
                return
            # A message processed during the wait may block this one.
            await self._wait_for_room()
            self.close_if_key_invalid()
            if self._ending.done():
                return
            self._begin(body)

    def _begin(self, body: bytes) -> None:
        exchange = RequestExchange(self._session)
        is_behind = self._batch.locked() and body.lstrip().startswith(b"[")
        reply = self._enter(body, exchange) if is_behind else self._handler.answer(self.caller, {}, body, exchange)
        self._continue(exchange, reply, len(body))

    async def _enter(self, body: bytes, exchange: RequestExchange) -> HttpReply:
        """Answer a batch behind another one: it reads the view of the time when it begins."""
        reply = self._handler.answer(self.caller, {}, body, exchange)
        return reply if isinstance(reply, tuple) else await reply

    def _continue(
        self, exchange: RequestExchange, reply: HttpReply | Coroutine[Any, Any, HttpReply], size: int
    ) -> None:
        """Send the reply to a body of `size` bytes, now or when it is complete."""
        if isinstance(reply, tuple):
            self._send_reply(exchange, reply)
            return
        # A single call has started already; a batch starts when it is awaited.
        answer = self._answer if exchange.is_detached else self._answer_batch
        task = self.spawn(answer(exchange, reply))
        self._calls.add(task)
        if size > _COUNTED:
            self._hold_bodies(size)
            task.add_done_callback(lambda _: self._hold_bodies(-size))
        self._holding = None if exchange.is_detached else exchange

    def _hold_bodies(self, size: int) -> None:
        self._body_bytes += size
        self._hold()

    def _hold(self) -> None:
        """Count the bytes held for the client, except the answer being written: the socket counts that."""
        if not self._websocket.hold(self._body_bytes + self.outbox.answers.bytes - self._written):
            self.abort("the client reads too slowly: too many bytes in flight")

    def _is_full(self) -> bool:
        return len(self._calls) >= self._max_calls or self.outbox.answers.is_full

    async def _wait_for_room(self) -> None:
        """Wait until another request may start."""
        if self._delay:
            await asyncio.sleep(self._delay)
            self._delay = 0.0
        if self._holding is not None:
            await self._holding.wait_until_detached()
            self._holding = None
        while len(self._calls) >= self._max_calls:
            await asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
        while self.outbox.answers.is_full:
            await self.outbox.answers.wait_until_empty()

    async def _answer(self, exchange: RequestExchange, reply: Coroutine[Any, Any, HttpReply]) -> None:
        try:
            self._send_reply(exchange, await reply)
        finally:
            exchange.detach()

    async def _answer_batch(self, exchange: RequestExchange, reply: Coroutine[Any, Any, HttpReply]) -> None:
        try:
            async with self._batch:
                await self._answer(exchange, reply)
        finally:
            reply.close()

    def _send_reply(self, exchange: RequestExchange, reply: HttpReply) -> None:
        # The HTTP status is not sent on a WebSocket: the body has the error.
        _, body, seconds = reply
        answer = bytes(body)
        if seconds:
            # Rejections must not use up the event loop.
            self._delay = min(_FIRST_DELAY * (1 << min(self._refusals, _DOUBLINGS)), seconds, _MAX_DELAY)
            self._refusals += 1
        else:
            self._refusals = 0
        if answer and not (self.outbox.is_empty and self._websocket.send_now(answer)):
            self.outbox.put_answer(answer.decode())
            if len(answer) > _COUNTED:
                self._hold()
        exchange.answer_queued(answer)

    async def _write(self) -> None:
        outbox, write = self.outbox, self._write_each if self._max_sends == 1 else self._write_ahead
        while True:
            await write(*await outbox.get())

    async def _write_each(self, budget: QueueBudget, prefix: str, messages: Sequence[str]) -> None:
        for message in messages:
            is_counted = not prefix and len(message) > _COUNTED
            if is_counted:
                self._written = len(message)
            await self._websocket.send(f"{prefix}{message}{NOTIFICATION_END}" if prefix else message)
            self._written = 0
            self._sent(budget, prefix, message)
            if is_counted:
                self._hold()
            self._frames += 1
            if not self._frames % _FRAMES_PER_ITERATION:
                await asyncio.sleep(0)

    async def _write_ahead(self, budget: QueueBudget, prefix: str, messages: Sequence[str]) -> None:
        for start in range(0, len(messages), self._max_sends):
            await self._write_chunk(budget, prefix, messages[start : start + self._max_sends])
            await asyncio.sleep(0)

    async def _write_chunk(self, budget: QueueBudget, prefix: str, messages: Sequence[str]) -> None:
        texts = [f"{prefix}{message}{NOTIFICATION_END}" for message in messages] if prefix else messages
        await self._websocket.send_ahead(texts, lambda number: self._sent(budget, prefix, messages[number]))

    def _sent(self, budget: QueueBudget, prefix: str, message: str) -> None:
        self.idle_checks = 0
        if prefix:
            self.outbox.traffic.notified += 1
        budget.release(len(message), 1)

    async def _finish(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        self._session.close()
        if self._calls:
            await asyncio.wait(self._calls)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_TIME):
                await self.outbox.answers.wait_until_empty()
                await self.outbox.notifications.wait_until_empty()
        self._end((GOING_AWAY, "the server is shutting down"))
