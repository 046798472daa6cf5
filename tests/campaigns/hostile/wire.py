"""Bytes of HTTP/1.1 and WebSocket, and connections from chosen loopback addresses."""

import asyncio
import contextlib
import socket
import ssl
from typing import Any, NamedTuple

import orjson

HOST = "127.0.0.1"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
HANDSHAKE = UPGRADE + b"\r\n"
_LONGEST_HEAD = 1 << 18


class Response(NamedTuple):
    """An HTTP response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the parsed body."""
        return orjson.loads(self.body)


def call(method: str, *params: Any) -> bytes:
    """Return the body of a JSON-RPC request."""
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def head(length: int | None, key: str | None = None, *lines: str) -> bytes:
    """Return the head of a POST; without a length the caller's lines must declare the body's end."""
    all_lines = ["POST / HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if key is not None:
        all_lines.append(f"Authorization: Bearer {key}")
    if length is not None:
        all_lines.append(f"Content-Length: {length}")
    return "\r\n".join([*all_lines, *lines, "", ""]).encode()


def post(body: bytes, key: str | None = None) -> bytes:
    """Return a whole request."""
    return head(len(body), key) + body


def chunked_head(*lines: str) -> bytes:
    """Return the head of a POST with a chunked body."""
    return head(None, None, "Transfer-Encoding: chunked", *lines)


def frame(kind: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """Return a client frame; its mask is zero, which changes nothing."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = bytes([0x80 | 126]) + size.to_bytes(2)
    else:
        length = bytes([0x80 | 127]) + size.to_bytes(8)
    return bytes([(0x80 if final else 0) | kind]) + length + bytes(4) + payload


def parse_head(data: bytes) -> tuple[int, dict[str, str]]:
    """Return status and headers of a response."""
    first, *lines = data.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split(" ", 2)[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


class Connection:
    """One asyncio connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(
        cls, port: int, source: str | None = None, tls: ssl.SSLContext | None = None, *, buffer: int | None = None
    ) -> "Connection":
        """Connect from a loopback address; `buffer` bounds the unread bytes in the kernel."""
        line = socket.socket()
        try:
            line.setblocking(False)
            if buffer is not None:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            if source is not None:
                line.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
                line.bind((source, 0))
            await asyncio.get_running_loop().sock_connect(line, (HOST, port))
            reader, writer = await asyncio.open_connection(
                sock=line, ssl=tls, server_hostname="localhost" if tls else None, limit=_LONGEST_HEAD
            )
        except BaseException:
            line.close()
            raise
        return cls(reader, writer)

    def send(self, data: bytes) -> None:
        """Queue bytes."""
        self.writer.write(data)

    async def drain(self, data: bytes = b"") -> None:
        """Queue bytes and wait until the peer accepts them."""
        self.writer.write(data)
        await self.writer.drain()

    async def response(self) -> Response:
        """Read the next complete response."""
        while True:
            status, headers = parse_head(await self.reader.readuntil(b"\r\n\r\n"))
            if status != 100:
                break
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return Response(status, headers, await self._chunks())
        size = int(headers.get("content-length", 0)) if status != 101 else 0
        return Response(status, headers, await self.reader.readexactly(size))

    async def _chunks(self) -> bytes:
        """Read a chunked body without trailers."""
        chunks: list[bytes] = []
        while True:
            size = int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16)
            chunk = await self.reader.readexactly(size + 2)
            if not size:
                return b"".join(chunks)
            chunks.append(chunk[:-2])

    async def post(self, body: bytes, key: str | None = None) -> Response:
        """Send a request and read its response."""
        self.writer.write(post(body, key))
        return await self.response()

    async def upgrade(self, *lines: str) -> int:
        """Open a WebSocket and return the status."""
        self.writer.write(UPGRADE + "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n")
        return (await self.response()).status

    async def frame(self) -> tuple[int, bytes]:
        """Read the next frame: opcode and payload."""
        first, second = await self.reader.readexactly(2)
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8))
        return first & 0x0F, await self.reader.readexactly(size)

    def stop_reading(self) -> None:
        """Stop reading."""
        with contextlib.suppress(RuntimeError, NotImplementedError):
            self.writer.transport.pause_reading()  # type: ignore[attr-defined]

    def close(self) -> None:
        """Abort the connection."""
        self.writer.transport.abort()


class Socket:
    """One blocking connection, for cases with controlled segments."""

    def __init__(self, port: int, source: str = "127.0.0.2", timeout: float = 10.0) -> None:
        self._socket = socket.create_connection((HOST, port), timeout, (source, 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send bytes as one segment, if they fit."""
        self._socket.sendall(data)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def half_close(self) -> None:
        """Close the sending side."""
        self._socket.shutdown(socket.SHUT_WR)

    def response(self) -> Response:
        """Read the next complete response. Raise `ConnectionError` if there is none."""
        while b"\r\n\r\n" not in self._read:
            self._more()
        data, _, self._read = self._read.partition(b"\r\n\r\n")
        status, headers = parse_head(data)
        size = int(headers.get("content-length", 0)) if status != 101 else 0
        while len(self._read) < size:
            self._more()
        body, self._read = self._read[:size], self._read[size:]
        return Response(status, headers, body)

    def status(self) -> int | None:
        """Return the status of the next response; None if the connection ends without one."""
        try:
            return self.response().status
        except (OSError, IndexError, ValueError):
            return None

    def is_closed_within(self, seconds: float) -> bool:
        """Return `True` if the server closes the connection within this time."""
        self._socket.settimeout(seconds)
        try:
            while self._socket.recv(1 << 16):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def _more(self) -> None:
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server ended the connection")
        self._read += data
