"""A WebSocket of the ASGI protocol."""

import asyncio
from collections.abc import Callable, Sequence

from foreseal.rpc.outgoing_queue import NotificationBatch
from foreseal.server.asgi.protocol import AsgiMessage, Receive, Scope, Send
from foreseal.server.http.handler import HttpResponse
from foreseal.server.websocket.socket import (
    AnswerFrames,
    ClientDisconnected,
    SideState,
    StartBody,
    StartRequest,
    truncate_reason,
)

_DENIAL = "websocket.http.response"
_POLICY_VIOLATION = 1008


class AsgiWebSocket:
    """The server side of an ASGI WebSocket, a `WebSocket`. One task may await `receive` while another awaits `send`."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.client = SideState.CONNECTING
        self.server = SideState.CONNECTING
        self.start: StartRequest | None = None
        self.answer_frames: AnswerFrames | None = None
        self.start_body: StartBody | None = None
        self._scope = scope
        self._receive = receive
        self._send = send

    def send_now(self, _data: bytes) -> bool:
        """Return False: ASGI always awaits."""
        return False

    def notify_now(self, _prefix: bytes, _messages: NotificationBatch) -> bool:
        """Return False: ASGI always awaits."""
        return False

    def hold(self, _size: int) -> bool:
        """Return True without counting: an ASGI server does not report what its clients have read."""
        return True

    async def connect(self) -> bool:
        """Accept the client's handshake; False if it has disconnected."""
        self._need(self.client, SideState.CONNECTING)
        message = await self._receive()
        connected: bool = message["type"] == "websocket.connect"
        self.client = SideState.OPEN if connected else SideState.CLOSED
        return connected

    async def accept(self, _max_bytes: int) -> None:
        """Open the connection."""
        self._need(self.server, SideState.CONNECTING)
        self.server = SideState.OPEN
        await self._put({"type": "websocket.accept"})

    async def deny(self, response: HttpResponse) -> None:
        """Answer the handshake with an HTTP response instead of a connection."""
        self._need(self.server, SideState.CONNECTING)
        self.server = SideState.CLOSED
        if _DENIAL not in self._scope.get("extensions", {}):
            # The ASGI server sends a plain 403 for it.
            await self._put({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        start = {"type": f"{_DENIAL}.start", "status": response.status, "headers": response.headers}
        await self._put(start)
        await self._put({"type": f"{_DENIAL}.body", "body": response.body})

    async def receive(self) -> bytes | None:
        """Return the next message, text or binary, as bytes; None when the client has disconnected."""
        self._need(self.client, SideState.OPEN)
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            self.client = SideState.CLOSED
            return None
        text = message.get("text")
        data: bytes = message["bytes"] if text is None else text.encode()
        return data

    async def send(self, text: str) -> None:
        """Send one message; return when the ASGI server has accepted it. Raises `ClientDisconnected`."""
        self._need(self.server, SideState.OPEN)
        await self._put({"type": "websocket.send", "text": text})

    async def send_ahead(self, texts: Sequence[str], sent: Callable[[int], None]) -> None:
        """Start sending all messages, then wait for each in order; `sent` gets the number of each.

        Raises `ClientDisconnected`.

        For servers that send in the order of the calls, which the protocol does not guarantee. Unsent messages are
        dropped when the caller is cancelled.
        """
        self._need(self.server, SideState.OPEN)
        begun = [asyncio.ensure_future(self._send({"type": "websocket.send", "text": text})) for text in texts]
        try:
            for number in range(len(begun)):
                await begun[number]
                sent(number)
        except Exception as error:  # as in `_put`
            self.client = SideState.CLOSED
            raise ClientDisconnected(str(error)) from error
        finally:
            # granian stores an error with its message, outside the view of Python's garbage collector. The error refers
            # to this frame, so nothing here may refer to the message, or neither would ever be freed.
            while begun:
                begun.pop().cancel()

    async def close(self, code: int, reason: str) -> None:
        """Close an open connection; return when the close frame is on its way. Raises `ClientDisconnected`."""
        self._need(self.server, SideState.OPEN)
        self.server = SideState.CLOSED
        await self._put({"type": "websocket.close", "code": code, "reason": truncate_reason(reason)})

    async def _put(self, message: AsgiMessage) -> None:
        try:
            await self._send(message)
        except Exception as error:  # each server has its own exception for a disconnected client
            self.client = SideState.CLOSED
            raise ClientDisconnected(str(error)) from error

    def _need(self, side: SideState, required: SideState) -> None:
        if side is not required:
            raise RuntimeError(f"a WebSocket that is {side.name} is not {required.name}")
