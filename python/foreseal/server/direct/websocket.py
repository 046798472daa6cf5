"""A WebSocket of the direct front, with the methods of one that came over ASGI (`foreseal.server.websocket`)."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from websockets.datastructures import Headers
from websockets.frames import Opcode
from websockets.http11 import Request as Handshake
from websockets.server import ServerProtocol

from foreseal.rpc.outbox import END, Messages
from foreseal.server.callers import Peer
from foreseal.server.direct.frames import (
    Broken,
    Frames,
    close_code,
    close_frame,
    pieces_of,
    pong_frame,
    text_frame,
)
from foreseal.server.direct.keeper import Keeper
from foreseal.server.direct.request import Request, head_of
from foreseal.server.direct.transport import Transport
from foreseal.server.handler import CLOSE, Response
from foreseal.server.websocket import Converse, Gone, Side, Take, cut

# Messages that wait for the handler, from which on no more is read.
_AHEAD = 8
# Seconds that a client has to answer a close frame.
_CLOSING = 5.0
_SWITCHING = 101
# Notifications of more characters are not copied for each client before it has room for them.
_COPIED = 64 * 1024


class DirectWebSocket(asyncio.Protocol):
    """One connection. Used from the event loop's thread only."""

    def __init__(self, keeper: Keeper, transport: Transport, request: Request, rest: bytes) -> None:
        """`rest` is what came behind the handshake."""
        self.client = Side.CONNECTING
        self.server = Side.CONNECTING
        self.take: Take | None = None
        self.converse: Converse | None = None
        self.path = request.path
        self.headers = request.headers
        # When the client had taken the close frame.
        self._closed: float | None = None
        self._keeper = keeper
        self._transport = transport
        self._handshake = request
        self._rest = rest
        self._accept: Any = None
        self._frames = Frames(keeper.handler.largest)
        self._messages: deque[bytes] = deque()
        self._receiver: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._blocked = False
        self._reading = True

    def begin(self, peer: Peer) -> None:
        """Serve it from its handshake on."""
        self._keeper.opened(self)
        self._keeper.serve(self, self.path, peer, self.headers)

    # What the event loop calls.

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        self.client = Side.CLOSED
        self._wake()
        if self._drained is not None and not self._drained.done():
            self._drained.set_exception(Gone("the client has left"))
        self._keeper.closed(self)

    def eof_received(self) -> None:
        """The client sends nothing more, and the event loop ends the connection when what was answered is written."""
        self._transport.flush()

    def pause_writing(self) -> None:
        """The client takes nothing."""
        self._blocked = True

    def resume_writing(self) -> None:
        """The client took what was written."""
        self._blocked = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self.server is Side.CONNECTING:
            self._rest += data
            return
        while self.converse is not None and self._is_free() and (answered := self.converse(data)) is not None:
            frames, end = answered
            self._transport.write_soon(frames)
            if end == len(data):
                return
            data = data[end:]
        try:
            for kind, content in self._frames.feed(data):
                if kind is Opcode.TEXT:
                    if not (self._is_awaited() and self.take is not None and self.take(content)):
                        self._messages.append(content)
                elif kind is Opcode.PING:
                    if not self._blocked:
                        self._transport.write(pong_frame(content))
                elif kind is Opcode.CLOSE:
                    self._leave(close_code(content))
                    return
        except Broken as broken:
            self._fail(broken)
            return
        if self._messages:
            self._wake()
            if len(self._messages) >= _AHEAD and self._reading:
                self._reading = False
                self._transport.pause_reading()

    # What a connection calls.

    def send_now(self, data: bytes) -> bool:
        """Send a text, UTF-8, unless the client is behind; whether it was sent."""
        if self._blocked or self.server is not Side.OPEN or self._transport.is_closing():
            return False
        self._transport.write(text_frame(data))
        return True

    def notify_now(self, prefix: bytes, messages: Messages) -> bool:
        """Send each message, behind a prefix, unless the client is behind or they are long; whether they were sent."""
        if self._blocked or self.server is not Side.OPEN or messages.size > _COPIED or self._transport.is_closing():
            return False
        pieces = messages.pieces.get(len(prefix))
        if pieces is None:
            pieces = messages.pieces[len(prefix)] = pieces_of(messages.texts, len(prefix), END)
        self._transport.write(prefix.join(pieces))
        return True

    async def connect(self) -> bool:
        """Look at the client's handshake; False if it is none, which was answered."""
        given = self._handshake
        headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in given.headers.items()])
        protocol = "HTTP/1.0" if given.old else "HTTP/1.1"
        shaken = ServerProtocol(max_size=None)
        found = shaken.accept(Handshake(self.path, headers, method=given.verb, protocol=protocol))
        if found.status_code != _SWITCHING:
            lines = [(name.lower().encode(), value.encode()) for name, value in found.headers.raw_items()]
            kept = [line for line in lines if line[0] not in (b"date", b"content-length", b"connection")]
            self._deny(Response(found.status_code, kept, bytes(found.body or b"")))
            return False
        self._accept = found
        self.client = Side.OPEN
        return True

    async def accept(self) -> None:
        """Open the connection."""
        self.server = Side.OPEN
        self._transport.write(self._accept.serialize())
        rest, self._rest = self._rest, b""
        if rest:
            self.data_received(rest)

    async def deny(self, response: Response) -> None:
        """Answer the handshake with an HTTP response in place of a connection."""
        self._deny(response)

    async def receive(self) -> bytes | None:
        """The next message, text or binary, as bytes; None when the client has left."""
        while not self._messages:
            if self.client is Side.CLOSED:
                return None
            self._receiver = self._keeper.loop.create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        message = self._messages.popleft()
        if not self._messages and not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()
        return message

    async def send(self, text: str) -> None:
        """Send one message; returns when there is room for another. Raises `Gone`."""
        self._put(text_frame(text.encode()))
        await self._drain()

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Send all messages in one piece; `sent` gets the number of each. Raises `Gone`."""
        self._put(b"".join([text_frame(text.encode()) for text in texts]))
        await self._drain()
        for number in range(len(texts)):
            sent(number)

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; returns when the close frame is on its way. Raises `Gone`."""
        if self.server is not Side.OPEN:
            return
        self.server = Side.CLOSED
        self._put(close_frame(code, cut(reason)))
        try:
            await self._drain()
        except asyncio.CancelledError:
            self._transport.abort()
            raise
        self._closed = self._keeper.now

    # Looked at and stopped from outside.

    def look(self, now: float, _idle: float, _wait: float) -> None:
        """Cut it where the client does not answer a close frame."""
        if self._closed is not None and now - self._closed > _CLOSING:
            self._transport.abort()

    def finish(self) -> None:
        """Wait no more for the answer to a close frame: connections are told to close before the listener is."""
        if self._closed is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it now."""
        self._transport.abort()

    def _is_awaited(self) -> bool:
        """Whether the one who receives has nothing else to do."""
        return not self._messages and self._receiver is not None and not self._receiver.done()

    def _is_free(self) -> bool:
        """Whether a message that begins now can be answered before all that follows."""
        if self._blocked or self.server is not Side.OPEN or not (self._frames.is_between and self._is_awaited()):
            return False
        return not self._transport.is_closing()

    def _put(self, data: bytes) -> None:
        if self.client is Side.CLOSED or self._transport.is_closing():
            self.client = Side.CLOSED
            raise Gone("the client has left")
        self._transport.write(data)

    async def _drain(self) -> None:
        if not self._blocked:
            return
        self._drained = self._keeper.loop.create_future()
        try:
            await self._drained
        finally:
            self._drained = None

    def _wake(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    def _leave(self, code: int | None) -> None:
        """The client closes, or answers that the server did."""
        if self.server is Side.OPEN and not self._transport.is_closing():
            self.server = Side.CLOSED
            self._transport.write(close_frame(code))
        self.client = Side.CLOSED
        self._wake()
        self._transport.close()

    def _fail(self, broken: Broken) -> None:
        if self.server is Side.OPEN:
            self.server = Side.CLOSED
            self._transport.write(close_frame(broken.code, cut(broken.reason)))
        self.client = Side.CLOSED
        self._messages.clear()
        self._wake()
        self._transport.close()

    def _deny(self, response: Response) -> None:
        self.server = self.client = Side.CLOSED
        if self._transport.is_closing():
            return
        headers = response.headers if CLOSE in response.headers else [*response.headers, CLOSE]
        answer = (response.status, headers, response.body)
        self._transport.write(head_of(answer, self._keeper.date, keep_alive=False, old=False) + response.body)
        self._transport.close()
