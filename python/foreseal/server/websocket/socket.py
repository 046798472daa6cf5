"""A WebSocket of the ASGI protocol, with an explicit state for each side.

            client                        server
    CONNECTING  connect            CONNECTING
        |       websocket.connect      |  accept -> OPEN, or deny -> CLOSED
       OPEN                           OPEN
        |       disconnect             |  close
      CLOSED                         CLOSED

Each method checks the states that it needs; another state is a bug of the caller and raises RuntimeError. The
client's actions never are: after the client has disconnected, `receive` returns None and `send` raises `Gone`.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from enum import Enum, auto
from typing import Any, Protocol

from foreseal.rpc.outbox import Messages
from foreseal.server.http.handler import Response

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_DENIAL = "websocket.http.response"
_POLICY_VIOLATION = 1008
# A close frame holds 125 bytes, two of them for the code.
_LONGEST_REASON = 123


StartRequest = Callable[[bytes], bool]
"""Accepts a message while no other one is being processed; False leaves it to `receive`."""

Converse = Callable[[bytes], tuple[bytes, int] | None]
"""Answers frames of the client while none is being processed: the frames to send, and the number of bytes consumed.

None leaves the first frame to the slow path.
"""


class Gone(Exception):
    """The client has disconnected."""


class Side(Enum):
    """State of one side."""

    CONNECTING = auto()
    OPEN = auto()
    CLOSED = auto()


class Socket(Protocol):
    """A WebSocket of any transport. One task may await `receive` while another awaits `send`."""

    client: Side
    start: "StartRequest | None"
    """Receives messages as they arrive, in place of `receive`, if the transport has them without waiting."""
    converse: "Converse | None"
    """Answers frames as they arrive, in place of `receive` and `send`, if the transport has them without waiting."""

    def send_now(self, data: bytes) -> bool:
        """Send a UTF-8 text if that is possible without waiting; return True if it was sent."""

    def notify_now(self, prefix: bytes, messages: Messages) -> bool:
        """Send each message after a prefix if that is possible without waiting; return True if they were sent."""

    def hold(self, size: int) -> bool:
        """Count the bytes of requests in progress and of queued answers; return False if they exceed a limit."""

    async def connect(self) -> bool:
        """Accept the client's handshake; False if it has disconnected or the handshake is invalid."""

    async def accept(self) -> None:
        """Open the connection."""

    async def deny(self, response: Response) -> None:
        """Answer the handshake with an HTTP response instead of a connection."""

    async def receive(self) -> bytes | None:
        """Return the next message, text or binary, as bytes; None when the client has disconnected."""

    async def send(self, text: str) -> None:
        """Send one message; return when there is room for another. Raises `Gone`."""

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Send all messages in order; `sent` gets the number of each. Raises `Gone`."""

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; return when the close frame is on its way. Raises `Gone`."""


class WebSocket:
    """One connection. One task may await `receive` while another awaits `send`."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.client = Side.CONNECTING
        self.server = Side.CONNECTING
        self.start: StartRequest | None = None
        self.converse: Converse | None = None
        self._scope = scope
        self._receive = receive
        self._send = send

    def send_now(self, _data: bytes) -> bool:
        """Return False: ASGI always awaits."""
        return False

    def notify_now(self, _prefix: bytes, _messages: Messages) -> bool:
        """Return False: ASGI always awaits."""
        return False

    def hold(self, _size: int) -> bool:
        """Return True without counting: an ASGI server does not report what its clients have read."""
        return True

    async def connect(self) -> bool:
        """Accept the client's handshake; False if it has disconnected."""
        self._need(self.client, Side.CONNECTING)
        message = await self._receive()
        connected: bool = message["type"] == "websocket.connect"
        self.client = Side.OPEN if connected else Side.CLOSED
        return connected

    async def accept(self) -> None:
        """Open the connection."""
        self._need(self.server, Side.CONNECTING)
        self.server = Side.OPEN
        await self._put({"type": "websocket.accept"})

    async def deny(self, response: Response) -> None:
        """Answer the handshake with an HTTP response instead of a connection."""
        self._need(self.server, Side.CONNECTING)
        self.server = Side.CLOSED
        if _DENIAL not in self._scope.get("extensions", {}):
            # The ASGI server sends a plain 403 for it.
            await self._put({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        start = {"type": f"{_DENIAL}.start", "status": response.status, "headers": response.headers}
        await self._put(start)
        await self._put({"type": f"{_DENIAL}.body", "body": response.body})

    async def receive(self) -> bytes | None:
        """Return the next message, text or binary, as bytes; None when the client has disconnected."""
        self._need(self.client, Side.OPEN)
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            self.client = Side.CLOSED
            return None
        text = message.get("text")
        data: bytes = message["bytes"] if text is None else text.encode()
        return data

    async def send(self, text: str) -> None:
        """Send one message; return when the ASGI server has accepted it. Raises `Gone`."""
        self._need(self.server, Side.OPEN)
        await self._put({"type": "websocket.send", "text": text})

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Start sending all messages, then wait for each in order; `sent` gets the number of each. Raises `Gone`.

        For servers that send in the order of the calls, which the protocol does not guarantee. Unsent messages are
        dropped when the caller is cancelled.
        """
        self._need(self.server, Side.OPEN)
        begun = [asyncio.ensure_future(self._send({"type": "websocket.send", "text": text})) for text in texts]
        try:
            for number in range(len(begun)):
                await begun[number]
                sent(number)
        except Exception as error:  # as in `_put`
            self.client = Side.CLOSED
            raise Gone(str(error)) from error
        finally:
            # granian stores an error with its message, outside the view of Python's garbage collector. The error refers
            # to this frame, so nothing here may refer to the message, or neither would ever be freed.
            while begun:
                begun.pop().cancel()

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; return when the close frame is on its way. Raises `Gone`."""
        self._need(self.server, Side.OPEN)
        self.server = Side.CLOSED
        await self._put({"type": "websocket.close", "code": code, "reason": cut(reason)})

    async def _put(self, message: Message) -> None:
        try:
            await self._send(message)
        except Exception as error:  # each server has its own exception for a disconnected client
            self.client = Side.CLOSED
            raise Gone(str(error)) from error

    def _need(self, side: Side, wanted: Side) -> None:
        if side is not wanted:
            raise RuntimeError(f"a WebSocket that is {side.name} is not {wanted.name}")


def cut(reason: str) -> str:
    """Truncate a reason to the size of a close frame."""
    return reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
