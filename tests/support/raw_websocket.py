"""A WebSocket client on a raw socket, which reads only on command."""

import os
import socket
import struct
from typing import Any

import orjson

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
TIMEOUT = 30.0


class Refused(Exception):
    """The server denied the handshake with this status and body."""


class Ended(Exception):
    """The server closed the connection with this code and reason; (1006, "") without a close frame."""


class RawWebSocket:
    """One connection to a server on this machine."""

    def __init__(self, port: int, path: str = "/", *, buffer: int | None = None, **headers: str) -> None:
        """`buffer` limits the unread bytes in the kernel. Raise `Refused`."""
        self._socket = socket.socket()
        self._socket.settimeout(TIMEOUT)
        # A frame does not wait for the acknowledgment of the one before it, as with a browser.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.connect(("127.0.0.1", port))
        self._read = b""
        lines = {"Host": f"127.0.0.1:{port}", "Connection": "Upgrade", "Upgrade": "websocket"}
        lines |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "A" * 22 + "=="} | headers
        head = f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._socket.sendall(head.encode() + b"\r\n")
        while b"\r\n\r\n" not in self._read:
            self._read += self._more()
        answer, _, self._read = self._read.partition(b"\r\n\r\n")
        status = int(answer.split()[1])
        if status != 101:
            with self._socket:
                size = int(dict(_header(line) for line in answer.split(b"\r\n")[1:])[b"content-length"])
                raise Refused(status, self._read_exactly(size).decode())

    def __enter__(self) -> "RawWebSocket":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket without a close frame."""
        self._socket.close()

    def send(self, payload: bytes, kind: int = TEXT) -> None:
        """Send one message in one frame."""
        size = len(payload)
        if size < 126:
            length = struct.pack("!B", 0x80 | size)
        elif size < 1 << 16:
            length = struct.pack("!BH", 0x80 | 126, size)
        else:
            length = struct.pack("!BQ", 0x80 | 127, size)
        mask = os.urandom(4)
        pad = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(payload) ^ int.from_bytes(pad)).to_bytes(size)
        self._socket.sendall(bytes([0x80 | kind]) + length + mask + masked)

    def call(self, method: str, *params: Any, ident: int = 1) -> None:
        """Send a request."""
        self.send(orjson.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}))

    def hear(self) -> Any:
        """Return the next message, parsed; pings are skipped. Raise `Ended`."""
        while True:
            kind, payload = self._frame()
            if kind == CLOSE:
                raise Ended(int.from_bytes(payload[:2]), payload[2:].decode())
            if kind in (TEXT, BINARY):
                return orjson.loads(payload)

    def request(self, method: str, *params: Any) -> Any:
        """Return the result of a call, or its error; the next message must be the response."""
        self.call(method, *params)
        answer = self.hear()
        assert "id" in answer, answer
        return answer["result"] if "result" in answer else answer["error"]

    def ending(self) -> tuple[int, str]:
        """Read to the end and return code and reason of the close."""
        try:
            while True:
                self.hear()
        except Ended as ended:
            return ended.args[0], ended.args[1]

    def _frame(self) -> tuple[int, bytes]:
        first, second = self._read_exactly(2)
        assert first & 0x80, "this server never splits a message"
        assert not second & 0x80, "a server does not mask"
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self._read_exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._read_exactly(8))
        return first & 0x0F, self._read_exactly(size)

    def _read_exactly(self, count: int) -> bytes:
        parts, missing = [self._read], count - len(self._read)
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        whole = b"".join(parts)
        self._read = whole[count:]
        return whole[:count]

    def _more(self) -> bytes:
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise Ended(1006, "")
        return data


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.strip().lower(), value.strip()
