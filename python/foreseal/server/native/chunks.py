"""Decoder for chunked bodies (RFC 9112, section 7.1): linear in its input; everything except the data is bounded."""

import re

from foreseal.server.native.request_head import BadRequest

MAX_CHUNK_LINE = 256
"""Largest line with the size of a chunk and its extensions, in bytes."""
MAX_TRAILERS = 8 * 1024
"""Most bytes of trailers, which are checked and dropped."""
# Most chunks that one call decodes, so that no connection blocks the event loop.
_BATCH = 256

_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")
_TRAILERS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*")
_SIZE, _DATA, _DATA_END, _TRAILER = range(4)


class ChunkDecoder:
    """Decodes one body. `chunks` counts the chunks, for the rate limit of protocol work."""

    __slots__ = ("_left", "_searched", "_state", "body", "chunks", "is_done")

    def __init__(self) -> None:
        self.body = bytearray()
        self.chunks = 0
        self.is_done = False
        self._state = _SIZE
        self._left = 0
        # Bytes of an unfinished trailer that were already searched for its end.
        self._searched = 0

    @property
    def size(self) -> int:
        """Number of bytes of the body, including the announced rest of the current chunk."""
        return len(self.body) + self._left

    def decode(self, data: bytes | bytearray, start: int) -> int:
        """Decode a limited number of chunks from `start` on; return the offset of unused input. Raises `BadRequest`."""
        end = len(data)
        for _ in range(_BATCH):
            if self._state == _SIZE:
                position = self._size(data, start)
                if position == start:
                    return start
                start = position
            if self._state == _DATA:
                count = min(self._left, end - start)
                self.body += memoryview(data)[start : start + count]
                self._left -= count
                start += count
                if self._left:
                    return start
                self._state = _DATA_END
            if self._state == _DATA_END:
                line_end = data[start : start + 2]
                if not b"\r\n".startswith(line_end):
                    raise BadRequest(400, "a chunk is longer than its size")
                if len(line_end) < 2:
                    return start
                start += 2
                self._state = _SIZE
            if self._state == _TRAILER:
                return self._trailers(data, start)
            if start == end:
                return start
        return start

    def _size(self, data: bytes | bytearray, start: int) -> int:
        end = data.find(b"\r\n", start, start + MAX_CHUNK_LINE + 2)
        if end < 0:
            line = data[start : start + MAX_CHUNK_LINE + 2]
            if (
                len(line) > MAX_CHUNK_LINE + 1
                or b"\n" in line
                or _LINE.fullmatch(line.removesuffix(b"\r") or b"0") is None
            ):
                raise BadRequest(400, "malformed chunk size")
            return start
        match = _LINE.fullmatch(data, start, end)
        if match is None:
            raise BadRequest(400, "malformed chunk size")
        self.chunks += 1
        self._left = int(match[1], 16)
        self._state = _DATA if self._left else _TRAILER
        return end + 2

    def _trailers(self, data: bytes | bytearray, start: int) -> int:
        if data.startswith(b"\r\n", start):
            self.is_done = True
            return start + 2
        end = data.find(b"\r\n\r\n", start + max(self._searched - 3, 0), start + MAX_TRAILERS)
        if end < 0:
            size = len(data) - start
            if size >= MAX_TRAILERS:
                raise BadRequest(431, f"trailers may have at most {MAX_TRAILERS} bytes")
            if data.count(b"\n", start + self._searched) != data.count(b"\r\n", start + max(self._searched - 1, 0)):
                raise BadRequest(400, "a line must end with CR LF")
            self._searched = size
            return start
        if _TRAILERS.fullmatch(data, start, end + 2) is None:
            raise BadRequest(400, "malformed trailer")
        self.is_done = True
        return end + 4
