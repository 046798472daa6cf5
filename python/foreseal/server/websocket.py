"""A WebSocket of the ASGI protocol, its two sides as explicit states.

            client                        server
    CONNECTING  connect            CONNECTING
        |       websocket.connect      |  accept -> OPEN, or deny -> CLOSED
       OPEN                           OPEN
        |       disconnect             |  close
      CLOSED                         CLOSED

Each method says which states it needs; another state is a mistake of the caller and raises RuntimeError. What the
client does is never one: a client that is gone makes `receive` return None and `send` raise `Gone`.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from enum import Enum, auto
from typing import Any, Protocol

from foreseal.rpc.outbox import Messages
from foreseal.server.handler import Response

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_DENIAL = "websocket.http.response"
_POLICY_VIOLATION = 1008
# A close frame holds 125 bytes, two of them for the code.
_LONGEST_REASON = 123


Take = Callable[[bytes], bool]
"""Takes a message while nobody is at work on another one; false leaves it to `receive`."""

Converse = Callable[[bytes], tuple[bytes, int] | None]
"""Answers frames of the client while nobody is at work: the frames to send, and how many bytes are answered.

None leaves the first frame to the usual way.
"""


class Gone(Exception):
    """The client is not there any more."""


class Side(Enum):
    """How far one side is."""

    CONNECTING = auto()
    OPEN = auto()
    CLOSED = auto()


class Socket(Protocol):
    """A WebSocket, whichever server is in front. A task each may await `receive` and `send` at the same time."""

    client: Side
    take: "Take | None"
    """Gets messages as they come, in the place of `receive`, where the server in front has them without waiting."""
    converse: "Converse | None"
    """Gets frames as they come, in the place of both, where the server in front has them without waiting."""

    def send_now(self, data: bytes) -> bool:
        """Send a text, UTF-8, if that can be done without waiting; whether it was."""

    def notify_now(self, prefix: bytes, messages: Messages) -> bool:
        """Send each message, behind a prefix, if that can be done without waiting; whether it was."""

    def hold(self, size: int) -> bool:
        """Count the bytes of requests under way and of answers that wait; false if they are too many."""

    async def connect(self) -> bool:
        """Take the client's handshake; False if it is gone already, or was none."""

    async def accept(self) -> None:
        """Open the connection."""

    async def deny(self, response: Response) -> None:
        """Answer the handshake with an HTTP response in place of a connection."""

    async def receive(self) -> bytes | None:
        """The next message, text or binary, as bytes; None when the client has left."""

    async def send(self, text: str) -> None:
        """Send one message; returns when there is room for another. Raises `Gone`."""

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Send all messages in their order; `sent` gets the number of each. Raises `Gone`."""

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; returns when the close frame is on its way. Raises `Gone`."""


class WebSocket:
    """One connection. `receive` and `send` may be awaited at the same time, each by one task."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.client = Side.CONNECTING
        self.server = Side.CONNECTING
        self.take: Take | None = None
        self.converse: Converse | None = None
        self._scope = scope
        self._receive = receive
        self._send = send

    def send_now(self, _data: bytes) -> bool:
        """Never: ASGI awaits."""
        return False

    def notify_now(self, _prefix: bytes, _messages: Messages) -> bool:
        """Never: ASGI awaits."""
        return False

    def hold(self, _size: int) -> bool:
        """Count nothing: the server in front does not report what its clients have read."""
        return True

    async def connect(self) -> bool:
        """Take the client's handshake; False if it is gone already."""
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
        """Answer the handshake with an HTTP response in place of a connection."""
        self._need(self.server, Side.CONNECTING)
        self.server = Side.CLOSED
        if _DENIAL not in self._scope.get("extensions", {}):
            # The server in front makes it a plain 403.
            await self._put({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        start = {"type": f"{_DENIAL}.start", "status": response.status, "headers": response.headers}
        await self._put(start)
        await self._put({"type": f"{_DENIAL}.body", "body": response.body})

    async def receive(self) -> bytes | None:
        """The next message, text or binary, as bytes; None when the client has left."""
        self._need(self.client, Side.OPEN)
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            self.client = Side.CLOSED
            return None
        text = message.get("text")
        data: bytes = message["bytes"] if text is None else text.encode()
        return data

    async def send(self, text: str) -> None:
        """Send one message; returns when the server in front took it. Raises `Gone`."""
        self._need(self.server, Side.OPEN)
        await self._put({"type": "websocket.send", "text": text})

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Begin to send all messages, then wait for one after the other: `sent` gets the number of each. Raises `Gone`.

        For servers that send in the order in which sending was begun, though the protocol does not promise it. What
        was not sent is given up when the caller is cancelled.
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
            # Granian keeps an error with the message that it came from, unseen by Python's collector: an error leads to
            # this frame, so nothing here may lead on to the message, or neither would ever go.
            while begun:
                begun.pop().cancel()

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; returns when the close frame is on its way. Raises `Gone`."""
        self._need(self.server, Side.OPEN)
        self.server = Side.CLOSED
        await self._put({"type": "websocket.close", "code": code, "reason": cut(reason)})

    async def _put(self, message: Message) -> None:
        try:
            await self._send(message)
        except Exception as error:  # each server has its own for a client that has left
            self.client = Side.CLOSED
            raise Gone(str(error)) from error

    def _need(self, side: Side, wanted: Side) -> None:
        if side is not wanted:
            raise RuntimeError(f"a WebSocket that is {side.name} is not {wanted.name}")


def cut(reason: str) -> str:
    """As much of a reason as a close frame has room for."""
    return reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
