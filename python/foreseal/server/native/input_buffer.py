"""Input buffer of a connection: received bytes that are not yet consumed.

Each byte is searched and copied a bounded number of times, for any segmentation of the input.
"""

from foreseal.server.native.chunks import ChunkDecoder
from foreseal.server.native.request_head import HEAD_END, BadRequest, RequestHead, check_start, parse_head

MAX_EMPTY_LINES = 8
"""Most empty lines before a request."""
# Consumed bytes at the start of the buffer above which the rest is moved.
_COMPACT = 64 * 1024


class InputBuffer:
    """Input buffer of one connection. Used from the event loop's thread only."""

    __slots__ = ("_at", "_data", "_lines", "_reads", "_searched", "empty_lines", "last_head", "left")

    def __init__(self) -> None:
        self._data: bytes | bytearray = b""
        self._at = 0
        # Bytes after `_at` that contain no start of an end of head.
        self._searched = 0
        # Reads of the unfinished head, and empty lines before it.
        self._reads = self._lines = 0
        self.left = 0
        """Number of bytes that are not yet consumed."""
        self.last_head = b""
        """The last head, including the final empty line."""
        self.empty_lines = 0
        """Empty lines before the last head."""

    def add(self, data: bytes) -> None:
        """Append received bytes."""
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

    def read_rest(self) -> bytes:
        """Return all remaining bytes."""
        rest = bytes(memoryview(self._data)[self._at :])
        self.clear()
        return rest

    def count_read(self) -> int:
        """Count a read that did not complete the head; return the number of such reads."""
        self._reads += 1
        return self._reads

    def head(self) -> tuple[RequestHead, int] | None:
        """Parse a head and return it with its size; None if it is incomplete. Raises `BadRequest`."""
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
        end = data.find(HEAD_END, start + max(self._searched - 3, 0))
        if end < 0:
            if not b"\r\n".startswith(data[start : start + 2]):
                check_start(data, start, start + self._searched)
            self._searched = self.left
            return None
        self.last_head = bytes(data[start : end + 4])
        head = parse_head(self.last_head[:-4])
        self.empty_lines, self._lines, self._reads, self._searched = self._lines, 0, 0, 0
        self._advance(end + 4 - start)
        return head, len(self.last_head)

    def complete_body(self, length: int | None) -> bytes | None:
        """Return a body of known length; None if it has not arrived completely."""
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
        """Pass the input to the decoder of an unfinished body. Raises `BadRequest`."""
        self._advance(decoder.decode(self._data, self._at) - self._at)

    def _advance(self, count: int) -> None:
        self._at += count
        self.left -= count
        if not self.left:
            self._data, self._at = b"", 0
