"""One WebSocket connection: a reader that takes requests, a writer that empties the queue, and how it ends."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from foreseal.rpc.dispatch import Reply
from foreseal.rpc.outbox import END, Budget, Messages, Outbox, Traffic
from foreseal.rpc.session import Exchange
from foreseal.server.callers import Caller
from foreseal.server.handler import Handler
from foreseal.server.websocket import Gone, Side, Socket

log = logging.getLogger(__name__)

NORMAL, GOING_AWAY, POLICY_VIOLATION, TOO_BIG, INTERNAL, TRY_AGAIN_LATER = 1000, 1001, 1008, 1009, 1011, 1013

CLOSE_TIME = 10.0
"""Seconds that a client has for taking the close frame; then the connection is cut."""
_FLUSH_TIME = 1.0
# Seconds without reading after a refusal: doubled with each further one in a row.
_FIRST_DELAY, _MAX_DELAY, _DOUBLINGS = 0.01, 1.0, 7
# Bodies and answers of more bytes are counted while they are held.
_COUNTED = 4096
# Frames after which other connections get their turn, where the server in front took them without waiting.
_FRAMES_OF_A_TURN = 64

Ending = tuple[int, str]
"""Code and reason of a close frame."""


class Connection:
    """A connection that was accepted. Used from the event loop's thread only."""

    def __init__(self, websocket: Socket, handler: Handler, caller: Caller, traffic: Traffic, ahead: int = 1) -> None:
        """At most `ahead` messages of those that wait begin to be sent at once."""
        limits = caller.tier.limits
        self.outbox = Outbox(limits.outgoing_bytes, limits.outgoing_frames, traffic)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nothing of it is left."""
        self.close_time = CLOSE_TIME
        """Seconds for the close frame."""
        self.slow = False
        """Whether it was given up: see `give_up`."""
        self.quiet = 0
        """Looks of `Connections` since something was said or taken."""
        self._websocket = websocket
        self._handler = handler
        self.caller = caller
        self._largest = limits.body
        self._most_calls = limits.connection_calls
        self._ahead = ahead
        self._frames = 0
        self._refusals = 0
        # Seconds without reading before the next message, after a refusal.
        self._delay = 0.0
        self._session = caller.tier.dispatcher.session(self, caller.meter)
        self._answer_frames = caller.tier.dispatcher.converse
        # None where the client has left.
        self._ending: asyncio.Future[Ending | None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: set[asyncio.Task[None]] = set()
        # Bytes of their bodies, and of the answer that is being written.
        self._body_bytes = self._written = 0
        # The newest request, as long as those behind it have to wait.
        self._holding: Exchange | None = None
        # Held by the batch under way. Each may gather as much as the largest answer, whether its client reads or not.
        self._batch = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve it until one side ends it."""
        ending = None
        try:
            self.spawn(self._write())
            self._reader = self.spawn(self._read())
            self._websocket.take = self.take
            if self.caller.is_plain:
                self._websocket.converse = self.converse
            ending = await self._ending
        finally:
            self._websocket.take = self._websocket.converse = None
            self._session.close()
            # Also what they wait for in the server in front: a pending message there would hold up the close frame.
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.outbox.clear()
        if ending is not None and self._websocket.client is Side.OPEN:
            with contextlib.suppress(TimeoutError, Gone):
                await asyncio.wait_for(self._websocket.close(*ending), self.close_time)

    def end(self, code: int, reason: str) -> None:
        """Close it now; what waits is not sent any more."""
        self._end((code, reason))

    def give_up(self, reason: str) -> None:
        """Close it because its client does not take what it asked for, or cannot be told all of it."""
        self.slow = self.slow or not self._ending.done()
        self._end((TRY_AGAIN_LATER, reason))

    def take(self, body: bytes) -> bool:
        """Begin with a request at once, if nothing has to be waited for; false leaves it to whoever reads."""
        held = self._holding is not None and not self._holding.left
        if held or self._delay or self._is_full() or self._ending.done() or len(body) > self._largest:
            return False
        self.quiet = 0
        self.review()
        if not self._ending.done():
            self._begin(body)
        return True

    def converse(self, data: bytes) -> tuple[bytes, int] | None:
        """The frames that answer the frames at the beginning of `data`, and how many bytes those take.

        None where the first one has to be taken by itself: something is under way, or it asks for more than what is
        answered at once. For callers without a key or meter.
        """
        if self._calls or not self.outbox.is_empty or self._ending.done():
            return None
        self.quiet = 0
        return self._answer_frames(data, self._largest)

    def notify_now(self, prefix: bytes, messages: Messages) -> bool:
        """Send notifications past the queue, if that is empty and the client takes them; whether they were sent."""
        outbox = self.outbox
        if outbox.answers.frames or outbox.notifications.frames or self._ending.done():
            return False
        if not self._websocket.notify_now(prefix, messages):
            return False
        self.quiet = 0
        outbox.traffic.notified += len(messages.texts)
        return True

    def finish(self) -> None:
        """Read no more, answer what is under way, then close it: the server stops."""
        self.spawn(self._finish())

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run `work` until the connection ends; the connection ends if it fails."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def look(self, most: int) -> None:
        """Close it if nothing was said or taken for so many looks."""
        self.quiet += 1
        if self.quiet <= most or self._calls:
            return
        if self.outbox.answers.frames or self.outbox.notifications.frames:
            self.give_up("the client reads nothing")
        elif not len(self._session):
            self._end((NORMAL, "nothing was said, and there is no subscription"))

    def review(self) -> None:
        """Close it if the key that it was opened with is no longer good."""
        if not self._handler.holds(self.caller):
            self._end((POLICY_VIOLATION, "the API key was revoked or has expired"))

    def _end(self, ending: Ending | None) -> None:
        if not self._ending.done():
            self._ending.set_result(ending)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._calls.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Gone):
            self._end(None)
        elif error is not None:
            log.error("a connection failed", exc_info=error)
            self._end((INTERNAL, "internal error"))

    async def _read(self) -> None:
        while True:
            await self._room()
            body = await self._websocket.receive()
            if body is None:
                self._end(None)
                return
            self.quiet = 0
            if len(body) > self._largest:
                self._end((TOO_BIG, f"a message may have at most {self._largest} bytes"))
                return
            # What was taken meanwhile may hold it up.
            await self._room()
            self.review()
            if self._ending.done():
                return
            self._begin(body)

    def _begin(self, body: bytes) -> None:
        exchange = Exchange(self._session)
        reply = self.caller.tier.dispatcher.answer(body, exchange, self.caller.meter)
        if isinstance(reply, tuple):
            self._say(exchange, reply)
            return
        # A call by itself has begun already, a batch begins when it is awaited.
        answer = self._answer if exchange.left else self._answer_batch
        task = self.spawn(answer(exchange, reply))
        self._calls.add(task)
        size = len(body)
        if size > _COUNTED:
            self._hold_bodies(size)
            task.add_done_callback(lambda _: self._hold_bodies(-size))
        self._holding = None if exchange.left else exchange

    def _hold_bodies(self, size: int) -> None:
        self._body_bytes += size
        self._hold()

    def _hold(self) -> None:
        """Count what is held for the client, except the answer being written: the socket counts that."""
        if not self._websocket.hold(self._body_bytes + self.outbox.answers.bytes - self._written):
            self.give_up("the client reads too slowly: too many bytes of its requests and answers are in flight")

    def _is_full(self) -> bool:
        return len(self._calls) >= self._most_calls or self.outbox.answers.full

    async def _room(self) -> None:
        """Wait until one more request may be taken."""
        if self._delay:
            await asyncio.sleep(self._delay)
            self._delay = 0.0
        if self._holding is not None:
            await self._holding.has_left()
            self._holding = None
        while len(self._calls) >= self._most_calls:
            await asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
        while self.outbox.answers.full:
            await self.outbox.answers.when_empty()

    async def _answer(self, exchange: Exchange, reply: Coroutine[Any, Any, Reply]) -> None:
        try:
            self._say(exchange, await reply)
        finally:
            exchange.leave()

    async def _answer_batch(self, exchange: Exchange, reply: Coroutine[Any, Any, Reply]) -> None:
        try:
            async with self._batch:
                await self._answer(exchange, reply)
        finally:
            reply.close()

    def _say(self, exchange: Exchange, reply: Reply) -> None:
        # The HTTP status has no place here: the body says all.
        _, answer, seconds = reply
        if seconds:
            # Refusals must not use up the event loop.
            self._delay = min(_FIRST_DELAY * (1 << min(self._refusals, _DOUBLINGS)), seconds, _MAX_DELAY)
            self._refusals += 1
        else:
            self._refusals = 0
        if answer and not (self.outbox.is_empty and self._websocket.send_now(answer)):
            self.outbox.answer(answer.decode())
            if len(answer) > _COUNTED:
                self._hold()
        exchange.answered(answer)

    async def _write(self) -> None:
        outbox, write = self.outbox, self._write_each if self._ahead == 1 else self._write_ahead
        while True:
            await write(*await outbox.take())

    async def _write_each(self, budget: Budget, prefix: str, messages: Sequence[str]) -> None:
        for message in messages:
            is_counted = not prefix and len(message) > _COUNTED
            if is_counted:
                self._written = len(message)
            await self._websocket.send(f"{prefix}{message}{END}" if prefix else message)
            self._written = 0
            self._sent(budget, prefix, message)
            if is_counted:
                self._hold()
            self._frames += 1
            if not self._frames % _FRAMES_OF_A_TURN:
                await asyncio.sleep(0)

    async def _write_ahead(self, budget: Budget, prefix: str, messages: Sequence[str]) -> None:
        for start in range(0, len(messages), self._ahead):
            await self._write_part(budget, prefix, messages[start : start + self._ahead])
            await asyncio.sleep(0)

    async def _write_part(self, budget: Budget, prefix: str, messages: Sequence[str]) -> None:
        texts = [f"{prefix}{message}{END}" for message in messages] if prefix else messages
        await self._websocket.send_ahead(texts, lambda number: self._sent(budget, prefix, messages[number]))

    def _sent(self, budget: Budget, prefix: str, message: str) -> None:
        self.quiet = 0
        if prefix:
            self.outbox.traffic.notified += 1
        budget.give(len(message), 1)

    async def _finish(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        self._session.close()
        if self._calls:
            await asyncio.wait(self._calls)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_TIME):
                await self.outbox.answers.when_empty()
                await self.outbox.notifications.when_empty()
        self._end((GOING_AWAY, "the server stops"))
