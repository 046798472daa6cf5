"""HTTP/1.1 requests of the load, with as little processor time as asyncio allows, and a target of webhooks."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import cast

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_ID = re.compile(rb'"id": ?"((?:p|o|b)[^"]*)"')
_TYPE = re.compile(rb'"type": ?"([a-z_.]+)"')


class Connection:
    """A connection that executes one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._head = head

    @classmethod
    async def open(cls, host: str, port: int, key: str) -> "Connection":
        """Connect to a service with an API key."""
        reader, writer = await asyncio.open_connection(host, port, limit=2**24)
        head = f"Host: {host}:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n".encode()
        return cls(reader, writer, head)

    async def post(self, path: str, body: bytes, key: str) -> tuple[int, bytes]:
        """Return status and body of the response."""
        self._writer.write(
            b"POST %b HTTP/1.1\r\n%bIdempotency-Key: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (path.encode(), self._head, key.encode(), len(body), body)
        )
        return await self._response()

    async def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of the response."""
        self._writer.write(b"GET %b HTTP/1.1\r\n%b\r\n" % (path.encode(), self._head))
        return await self._response()

    async def _response(self) -> tuple[int, bytes]:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        assert length is not None, head
        return int(head[9:12]), await self._reader.readexactly(int(length[1]))

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class Target:
    """A target of webhooks: counts events by type, and notes when each order was captured."""

    def __init__(self) -> None:
        self.types: Counter[str] = Counter()
        self.captured: dict[str, float] = {}
        """Time of the first `order.captured` by order, on the monotonic clock."""
        self.server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen on a free port."""
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: _TargetProtocol(self.received), "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def received(self, body: bytes) -> None:
        """Count an event."""
        kind = _TYPE.search(body)
        assert kind is not None, body
        name = kind[1].decode()
        self.types[name] += 1
        if name == "order.captured":
            match = _ID.search(body)
            assert match is not None, body
            self.captured.setdefault(match[1].decode(), time.monotonic())


class _TargetProtocol(asyncio.Protocol):
    def __init__(self, received: Callable[[bytes], None]) -> None:
        self._received = received
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        assert self._transport is not None
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._data, 0, end + 4)
            assert length is not None, self._data[:end]
            whole = end + 4 + int(length[1])
            if len(self._data) < whole:
                return
            self._received(self._data[end + 4 : whole])
            self._data = self._data[whole:]
            self._transport.write(_OK)
