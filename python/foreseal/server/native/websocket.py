"""A WebSocket of the native transport, see `foreseal.server.websocket.socket`."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from websockets.datastructures import Headers
from websockets.frames import Opcode
from websockets.http11 import Request as HandshakeRequest
from websockets.server import ServerProtocol

from foreseal._core import BatchedTransport
from foreseal.rpc.outgoing_queue import NOTIFICATION_END, NotificationBatch
from foreseal.server.auth.callers import Peer
from foreseal.server.http.handler import CLOSE, HttpResponse
from foreseal.server.native.backlog import Pause
from foreseal.server.native.call_request import format_head
from foreseal.server.native.connection_owner import ConnectionOwner
from foreseal.server.native.connection_table import NEVER, UNFINISHED, AddressAccount, WorkBucket
from foreseal.server.native.frames import (
    PING_FRAME,
    FrameParser,
    ProtocolViolation,
    close_code,
    close_frame,
    frame_chunks,
    pong_frame,
    text_frame,
)
from foreseal.server.native.request_head import RequestHead
from foreseal.server.websocket.socket import (
    AnswerFrames,
    ClientDisconnected,
    SideState,
    StartBody,
    StartRequest,
    truncate_reason,
)

# Messages queued for the handler at which reading stops.
_AHEAD = 8
# Seconds for which one connection may use the event loop at once, and frames after which the time is checked.
_MAX_ITERATION, _CHECKED = 0.001, 16
# Longest time without reading after too much protocol work, seconds.
_MAX_DELAY = 1.0
# Seconds that a client has to answer a close frame.
_CLOSING = 5.0
# Seconds between two pings: proxies close a connection after 50 or 60 seconds without traffic.
_PING_INTERVAL = 20.0
# Bytes that a client may send before its handshake is answered.
_MAX_EARLY = 64 * 1024
_SWITCHING = 101
# Size in characters above which notifications are not copied for each client before it has room for them.
_COPIED = 64 * 1024


class NativeWebSocket(asyncio.Protocol):
    """One connection. Used from the event loop's thread only."""

    def __init__(
        self,
        owner: ConnectionOwner,
        transport: BatchedTransport,
        head: RequestHead,
        rest: bytes,
        account: AddressAccount,
        sender: AddressAccount,
        work: WorkBucket,
    ) -> None:
        """Create it. `rest` is the input after the handshake; `work` is the bucket of the connection.

        `account` is that of its address, `sender` that of the address that a trusted proxy has forwarded.
        """
        self.client = SideState.CONNECTING
        self.server = SideState.CONNECTING
        self.start: StartRequest | None = None
        self.answer_frames: AnswerFrames | None = None
        self.start_body: StartBody | None = None
        self.path = head.path
        self.headers = head.headers
        self.account = account
        self.sender = sender
        self.in_flight = self.request_bytes = 0
        self.max_bytes = owner.table.limits.connection_bytes
        self.since = owner.now
        # Time at which the close frame was sent.
        self._closed: float | None = None
        self._owner = owner
        self._transport = transport
        self._handshake = head
        self._accept: Any = None
        self._work = work
        self._frames = FrameParser(owner.handler.max_body)
        self._frames.add(rest)
        # Frames whose protocol work is already paid.
        self._spent = 0
        self._messages: deque[bytes] = deque()
        self._queued = 0
        """Total bytes of the messages."""
        self._held = 0
        """Bytes of requests in progress, and of queued answers."""
        self._receiver: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        # The newest unanswered ping of the client, and the time of the last one to it.
        self._ping: bytes | None = None
        self._pinged = owner.now
        self._blocked = False
        self._reading = True
        # True while received bytes are not processed yet.
        self._is_new = False
        # While it lasts, received frames wait.
        self._pause = Pause(owner.loop, self._resume)

    def begin(self, peer: Peer) -> None:
        """Serve it from its handshake on."""
        self._owner.opened(self)
        self._owner.serve(self, self.path, peer, self.headers)

    # Called by the event loop.

    def connection_lost(self, error: Exception | None) -> None:
        """Clean up."""
        self.client = SideState.CLOSED
        self._pause.cancel()
        self._frames.clear()
        self._wake()
        if self._drained is not None and not self._drained.done():
            self._drained.set_exception(ClientDisconnected("the client has disconnected"))
        self._owner.closed(self)

    def eof_received(self) -> None:
        """Flush; the event loop closes the connection after the answers are written."""
        self._transport.flush()

    def pause_writing(self) -> None:
        """Stop reading: the client does not read."""
        self._blocked = True
        self._settle()

    def resume_writing(self) -> None:
        """Continue: the client has read."""
        self._blocked = False
        self._answer_ping()
        self._settle()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        is_ready = self.server is not SideState.CONNECTING and not self._pause.is_on
        if is_ready:
            while (
                self.answer_frames is not None
                and self._is_free()
                and (answered := self.answer_frames(data)) is not None
            ):
                frames, end, body = answered
                if frames:
                    self._transport.write_soon(frames)
                if body is not None and self.start_body is not None:
                    self.start_body(body)
                    data = data[end:]
                    if not data:
                        return
                    break
                if end == len(data):
                    return
                data = data[end:]
        self._frames.add(data)
        if is_ready and self.sender.is_limited and self._owner.backlog.is_late():
            self._is_new = True
            self._pause.wait(self._owner.backlog, self.sender)
            self._settle()
        else:
            self._advance(is_new=True)

    def _advance(self, *, is_new: bool = False) -> None:
        """Process received frames, within the time of one iteration of the event loop.

        `is_new`: bytes have just arrived; they cost work even if they complete nothing.
        """
        try:
            if self.server is not SideState.CONNECTING and not self._pause.is_on:
                self._read_frames(is_new=is_new)
        except ProtocolViolation as violation:
            self._fail(violation)
            return
        self._answer_ping()
        if self._messages:
            self._wake()
        self._settle()

    def _read_frames(self, *, is_new: bool) -> None:
        frames, count, end = self._frames, 0, 0.0
        while not self._is_full() and (frame := frames.next()) is not None:
            kind, content = frame
            if kind is Opcode.TEXT:
                if not (self._is_awaited() and self.start is not None and self.start(content)):
                    self._messages.append(content)
                    self._queued += len(content)
            elif kind is Opcode.PING:
                self._ping = content
            elif kind is Opcode.CLOSE:
                self._leave(close_code(content))
                return
            count += 1
            if count % _CHECKED == 1:
                now = self._owner.loop.time()
                end = end or now + _MAX_ITERATION
                if now > end:
                    self._pause.begin(0.0)
                    break
            if frames.work - self._spent > _CHECKED and self._spend():
                break
        self._spent -= is_new and not count
        self._spend()

    def _spend(self) -> bool:
        """Spend the protocol work that was done; return True if reading pauses."""
        units = self._frames.work - self._spent
        if not units:
            return False
        self._spent = self._frames.work
        now = self._owner.loop.time()
        wait = max(self._work.spend(units, now), self.sender.spend(units, now))
        if wait:
            self._pause.begin(min(wait, _MAX_DELAY))
        return bool(wait)

    def _resume(self) -> None:
        """Continue reading after a pause."""
        is_new, self._is_new = self._is_new, False
        if not self._transport.is_closing():
            self._advance(is_new=is_new)

    def _answer_ping(self) -> None:
        """Answer the newest ping, or defer the answer while the client does not read."""
        ping = self._ping
        if (
            ping is not None
            and not self._blocked
            and self.server is SideState.OPEN
            and not self._transport.is_closing()
        ):
            self._ping = None
            self._transport.write(pong_frame(ping))

    def _is_full(self) -> bool:
        """Return True if enough messages are queued for the handler."""
        return len(self._messages) >= _AHEAD or self._queued > self._owner.handler.max_body

    def _settle(self) -> None:
        """Update whether the connection is read, and its bytes in flight."""
        transport = self._transport
        if transport.is_closing():
            return
        count = self._bytes()
        if count != self.in_flight and self._owner.table.count_bytes(self, 0, count) is not None:
            self._owner.handler.refusals["bytes_in_flight"] += 1
            self.abort()
            return
        reading = not (self._is_full() or self._pause.is_on)
        if self.server is SideState.CONNECTING:
            reading = reading and self._frames.size <= _MAX_EARLY
        if reading is not self._reading:
            self._reading = reading
            if reading:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _bytes(self) -> int:
        """Return the bytes in flight."""
        unread = self._transport.get_write_buffer_size() if self._blocked else 0
        return self._frames.size + self._queued + self._held + unread

    # Called by `WebSocketConnection`.

    def hold(self, size: int) -> bool:
        """Count the bytes of requests in progress and of queued answers; return False if they exceed a limit."""
        self._held = size
        if self._transport.is_closing() or self._owner.table.count_bytes(self, 0, self._bytes()) is None:
            return True
        self._owner.handler.refusals["bytes_in_flight"] += 1
        return False

    def send_now(self, data: bytes) -> bool:
        """Send a UTF-8 text unless the client is behind; return True if it was sent."""
        if self._blocked or self.server is not SideState.OPEN or self._transport.is_closing():
            return False
        self._transport.write(text_frame(data))
        return True

    def notify_now(self, prefix: bytes, messages: NotificationBatch) -> bool:
        """Send each message after a prefix unless the client is behind or they are long; return True if sent."""
        if (
            self._blocked
            or self.server is not SideState.OPEN
            or messages.size > _COPIED
            or self._transport.is_closing()
        ):
            return False
        chunks = messages.encoded_chunks.get(len(prefix))
        if chunks is None:
            chunks = messages.encoded_chunks[len(prefix)] = frame_chunks(messages.texts, len(prefix), NOTIFICATION_END)
        self._transport.write(prefix.join(chunks))
        return True

    async def connect(self) -> bool:
        """Check the client's handshake; return False if it is invalid, which was answered."""
        handshake = self._handshake
        headers = Headers(
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in handshake.headers.items()]
        )
        shaken = ServerProtocol(max_size=None)
        response = shaken.accept(HandshakeRequest(self.path, headers, method=handshake.method, protocol="HTTP/1.1"))
        if response.status_code != _SWITCHING:
            lines = [(name.lower().encode(), value.encode()) for name, value in response.headers.raw_items()]
            remaining = [line for line in lines if line[0] not in (b"date", b"content-length", b"connection")]
            self._deny(HttpResponse(response.status_code, remaining, bytes(response.body or b"")))
            return False
        self._accept = response
        self.client = SideState.OPEN
        return True

    async def accept(self, max_bytes: int) -> None:
        """Open the connection, which may have at most `max_bytes` in flight."""
        self.max_bytes = max_bytes
        self.server = SideState.OPEN
        self._transport.write(self._accept.serialize())
        self._advance()

    async def deny(self, response: HttpResponse) -> None:
        """Answer the handshake with an HTTP response instead of a connection."""
        self._deny(response)

    async def receive(self) -> bytes | None:
        """Return the next message, text or binary, as bytes; None when the client has disconnected."""
        while not self._messages:
            if self.client is SideState.CLOSED:
                return None
            self._receiver = self._owner.loop.create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        message = self._messages.popleft()
        self._queued -= len(message)
        if not self._messages and not self._reading and not self._pause.is_on:
            # In the next iteration: the handler is not ready for the next message yet.
            self._pause.begin(0.0)
        return message

    async def send(self, text: str) -> None:
        """Send one message; return when there is room for another. Raises `ClientDisconnected`."""
        self._put(text_frame(text.encode()))
        await self._drain()

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Send all messages in one write; `sent` gets the number of each. Raises `ClientDisconnected`."""
        self._put(b"".join([text_frame(text.encode()) for text in texts]))
        await self._drain()
        for number in range(len(texts)):
            sent(number)

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; return when the close frame is on its way. Raises `ClientDisconnected`."""
        if self.server is not SideState.OPEN:
            return
        self.server = SideState.CLOSED
        self._put(close_frame(code, truncate_reason(reason)))
        try:
            await self._drain()
        except asyncio.CancelledError:
            self._transport.abort()
            raise
        self._closed = self._owner.now

    # Checked and stopped by the listener.

    def rank(self) -> int:
        """Return the rank for eviction: it is only evicted while it is being closed."""
        return UNFINISHED if self.server is SideState.CLOSED else NEVER

    def enforce_timeouts(self, now: float, _idle: float) -> None:
        """Cut it if the client does not answer a close frame. Ping an open one."""
        if self._closed is not None and now - self._closed > _CLOSING:
            self._transport.abort()
        elif now - self._pinged >= _PING_INTERVAL:
            self._pinged = now
            if self.server is SideState.OPEN and not self._blocked and not self._transport.is_closing():
                self._transport.write(PING_FRAME)

    def finish(self) -> None:
        """Stop waiting for the answer to a close frame: all connections begin to close before the listener stops."""
        if self._closed is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close it now."""
        self._transport.abort()

    def _is_awaited(self) -> bool:
        """Return True if the receiver is waiting for a message."""
        return not self._messages and self._receiver is not None and not self._receiver.done()

    def _is_free(self) -> bool:
        """Return True if a message that begins now can be answered before all later ones."""
        if self._blocked or self.server is not SideState.OPEN or not (self._frames.is_between and self._is_awaited()):
            return False
        return not self._transport.is_closing()

    def _put(self, data: bytes) -> None:
        if self.client is SideState.CLOSED or self._transport.is_closing():
            self.client = SideState.CLOSED
            raise ClientDisconnected("the client has disconnected")
        self._transport.write(data)

    async def _drain(self) -> None:
        if not self._blocked:
            return
        self._drained = self._owner.loop.create_future()
        try:
            await self._drained
        finally:
            self._drained = None

    def _wake(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    def _leave(self, code: int | None) -> None:
        """Handle the close frame of the client, which may answer the server's."""
        if self.server is SideState.OPEN and not self._transport.is_closing():
            self.server = SideState.CLOSED
            self._transport.write(close_frame(code))
        self.client = SideState.CLOSED
        self._wake()
        self._transport.close()

    def _fail(self, violation: ProtocolViolation) -> None:
        if self.server is SideState.OPEN:
            self.server = SideState.CLOSED
            self._transport.write(close_frame(violation.code, truncate_reason(violation.reason)))
        self.client = SideState.CLOSED
        self._frames.clear()
        self._messages.clear()
        self._queued = 0
        self._wake()
        self._transport.close()

    def _deny(self, response: HttpResponse) -> None:
        self.server = self.client = SideState.CLOSED
        if self._transport.is_closing():
            return
        headers = response.headers if CLOSE in response.headers else [*response.headers, CLOSE]
        answer = (response.status, headers, response.body)
        self._transport.write(format_head(answer, self._owner.date, keep_alive=False, old=False) + response.body)
        self._transport.close()
