"""Bytes of a connection that have arrived and are not yet read: each byte is searched and copied a bounded number of
times, whatever the segments it came in."""

from foreseal.server.direct.chunks import ChunkDecoder
from foreseal.server.direct.head import END_OF_HEAD, BadRequest, RequestHead, check_start, parse_head

MAX_EMPTY_LINES = 8
"""Most empty lines before a request."""
# Bytes at the beginning that were read, from which on the rest is moved.
_COMPACT = 64 * 1024


class Intake:
    """Used from the event loop's thread only."""

    __slots__ = ("_at", "_data", "_lines", "_reads", "_searched", "empty_lines", "last_head", "left")

    def __init__(self) -> None:
        self._data: bytes | bytearray = b""
        self._at = 0
        # Bytes behind `_at` in which no end of a head begins.
        self._searched = 0
        # Reads of the unfinished head, and empty lines before it.
        self._reads = self._lines = 0
        self.left = 0
        """Bytes that are not yet read."""
        self.last_head = b""
        """The head that was read last, with the empty line."""
        self.empty_lines = 0
        """Empty lines before it."""

    def add(self, data: bytes) -> None:
        """Append bytes that have arrived."""
        if not self.left:
            self._data, self._at = data, 0
        else:
            if not isinstance(self._data, bytearray) or self._at > _COMPACT:
                self._data, self._at = bytearray(memoryview(self._data)[self._at :]), 0
            self._data += data
        self.left += len(data)

    def clear(self) -> None:
        """Drop everything."""
        self._data, self._at, self._searched, self.left = b"", 0, 0, 0

    def take_rest(self) -> bytes:
        """Return everything that is left."""
        rest = bytes(memoryview(self._data)[self._at :])
        self.clear()
        return rest

    def count_read(self) -> int:
        """Count a read that did not complete the head; return their number."""
        self._reads += 1
        return self._reads

    def head(self) -> tuple[RequestHead, int] | None:
        """Read a head; with its size. None if there is no whole one. Raises `BadRequest`."""
        data = self._data
        while self.left and data.startswith(b"\r\n", self._at):
            self._advance(2)
            self._searched = 0
            self._lines += 1
            if self._lines > MAX_EMPTY_LINES:
                raise BadRequest(400, f"more than {MAX_EMPTY_LINES} empty lines before a request")
        start = self._at
        if not self.left:
            return None
        end = data.find(END_OF_HEAD, start + max(self._searched - 3, 0))
        if end < 0:
            if not b"\r\n".startswith(data[start : start + 2]):
                check_start(data, start, start + self._searched)
            self._searched = self.left
            return None
        self.last_head = bytes(data[start : end + 4])
        found = parse_head(self.last_head[:-4])
        self.empty_lines, self._lines, self._reads, self._searched = self._lines, 0, 0, 0
        self._advance(end + 4 - start)
        return found, len(self.last_head)

    def whole_body(self, length: int | None) -> bytes | None:
        """Read a body of a known length; None if not all of it has arrived."""
        if length is None or length > self.left:
            return None
        if not length:
            return b""
        body = bytes(memoryview(self._data)[self._at : self._at + length])
        self._advance(length)
        return body

    def move(self, body: bytearray, count: int) -> None:
        """Move at most `count` bytes to an unfinished body."""
        count = min(count, self.left)
        body += memoryview(self._data)[self._at : self._at + count]
        self._advance(count)

    def decode(self, decoder: ChunkDecoder) -> None:
        """Let the decoder of an unfinished body read on. Raises `BadRequest`."""
        self._advance(decoder.decode(self._data, self._at) - self._at)

    def _advance(self, count: int) -> None:
        self._at += count
        self.left -= count
        if not self.left:
            self._data, self._at = b"", 0
