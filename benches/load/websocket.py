"""A minimal, fast WebSocket client (RFC 6455): the opening handshake and text frames."""

import asyncio
import base64
import os
import struct
from collections.abc import Callable

import orjson

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
_HEAD_END = b"\r\n\r\n"


def opening(port: int) -> bytes:
    """Return the bytes of an opening handshake."""
    key = base64.b64encode(os.urandom(16))
    return (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: %b\r\nSec-WebSocket-Version: 13\r\n\r\n" % (port, key)
    )


def frame(payload: bytes, opcode: int = TEXT) -> bytes:
    """Return a client frame, masked with zeros: the payload stays readable."""
    length = len(payload)
    if length < 126:
        head = struct.pack(">BB", 0x80 | opcode, 0x80 | length)
    elif length < 1 << 16:
        head = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, length)
    else:
        head = struct.pack(">BBQ", 0x80 | opcode, 0x80 | 127, length)
    return head + bytes(4) + payload


def request(method: str, *params: object) -> bytes:
    """Return a frame that calls a method with the id 1."""
    return frame(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


def frames(data: bytes) -> tuple[list[tuple[int, bytes]], bytes, int]:
    """Return the complete frames in bytes from a server, each with opcode and payload; the remaining bytes; and the
    number of bytes that the next frame needs in addition to those, at least one.
    """
    complete_frames: list[tuple[int, bytes]] = []
    at, size = 0, len(data)
    while at + 2 <= size:
        length, start = data[at + 1], at + 2
        if length == 126:
            start += 2
            length = int.from_bytes(data[at + 2 : start])
        elif length == 127:
            start += 8
            length = int.from_bytes(data[at + 2 : start])
        end = start + length
        if end > size or start > size:
            # An incomplete length names no end.
            return complete_frames, data[at:], (start if start > size else end) - size
        complete_frames.append((data[at] & 0x0F, data[start:end]))
        at = end
    return complete_frames, data[at:], at + 2 - size


def after_head(data: bytes) -> bytes | None:
    """Return the bytes after the handshake response; None while it is incomplete. Raise RuntimeError on a rejection."""
    head, end, rest = data.partition(_HEAD_END)
    if not end:
        return None
    if not head.startswith(b"HTTP/1.1 101"):
        raise RuntimeError(f"no WebSocket: {data[:300]!r}")
    return rest


class Subscriber(asyncio.Protocol):
    """One connection with one subscription; `notified` receives the text of every notification."""

    def __init__(self, port: int, params: tuple[object, ...], notified: Callable[[bytes], None]) -> None:
        """`params` are those of eth_subscribe."""
        self._port, self._params, self._notified = port, params, notified
        self._open = False
        self._received: list[bytes] = []
        self._missing = 1
        self.subscribed: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def open(self) -> "Subscriber":
        """Connect and subscribe. Raise RuntimeError."""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._port)
        answer = orjson.loads(await asyncio.wait_for(self.subscribed, 10))  # type: ignore[arg-type]
        if "error" in answer:
            raise RuntimeError(f"eth_subscribe: {answer['error']}")
        return self

    def close(self) -> None:
        """Disconnect."""
        self._transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        transport.write(opening(self._port))

    def data_received(self, data: bytes) -> None:
        # A message of megabytes is joined once, not at each read.
        self._received.append(data)
        self._missing -= len(data)
        if self._missing > 0:
            return
        data = b"".join(self._received)
        if not self._open:
            rest = after_head(data)
            if rest is None:
                self._received, self._missing = [data], 1
                return
            self._open, data = True, rest
            self._transport.write(request("eth_subscribe", *self._params))
        complete_frames, rest, self._missing = frames(data)
        self._received = [rest]
        for opcode, payload in complete_frames:
            if opcode == PING:
                self._transport.write(frame(payload, PONG))
            elif opcode == CLOSE:
                raise RuntimeError(f"the server closed a subscription: {payload!r}")
            elif not self.subscribed.done():
                self.subscribed.set_result(payload)
            else:
                self._notified(payload)
