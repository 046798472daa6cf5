"""Batched writes: short answers of one iteration of the event loop are written together at its end.

A `send` to a sleeping client wakes it, which can take longer than computing an answer; subsequent sends find it awake.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

# Most connections that wait for the end of an iteration, so that the first answer is not delayed by many others.
MAX_BATCH = 16
# Size in bytes above which an answer is written at once: writing it costs more than batching saves.
MAX_BATCHED_SIZE = 32 * 1024


class WriteBatch:
    """Connections with an answer to write at the end of this iteration of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transports: list[BatchedTransport] = []
        self.alone = True
        """True if there is at most one connection: batching then has no benefit."""

    def add(self, transport: "BatchedTransport") -> None:
        """Add a connection with an answer to write."""
        transports = self._transports
        if not transports:
            self._loop.call_soon(self._end)
        transports.append(transport)
        if len(transports) == MAX_BATCH:
            self._end()

    def _end(self) -> None:
        transports, self._transports = self._transports, []
        for transport in transports:
            transport.flush()


class BatchedTransport:
    """Transport of one connection. Used from the event loop's thread only."""

    __slots__ = (
        "_answer",
        "_transport",
        "_write_batch",
        "can_write_eof",
        "get_extra_info",
        "get_write_buffer_size",
        "is_closing",
        "pause_reading",
        "resume_reading",
        "set_protocol",
    )

    def __init__(self, transport: Any, write_batch: WriteBatch) -> None:
        self._transport, self._write_batch = transport, write_batch
        # Written at the end of the iteration; empty if there is nothing to write.
        self._answer = b""
        self.can_write_eof = transport.can_write_eof
        self.get_extra_info = transport.get_extra_info
        self.get_write_buffer_size = transport.get_write_buffer_size
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.set_protocol = transport.set_protocol

    def write_soon(self, answer: bytes) -> None:
        """Write an answer at the end of this iteration; later writes follow it."""
        if self._answer or self._write_batch.alone or len(answer) > MAX_BATCHED_SIZE:
            self.write(answer)
        else:
            self._answer = answer
            self._write_batch.add(self)

    def write(self, data: bytes) -> None:
        """Write at once."""
        if self._answer:
            self.flush()
        self._transport.write(data)

    def write_response(self, head: bytes, body: bytes, *, soon: bool = False) -> None:
        """Write a response, `soon` at the end of this iteration. A long body is not copied."""
        if len(body) > MAX_BATCHED_SIZE:
            self.writelines((head, body))
        elif soon:
            self.write_soon(head + body)
        else:
            self.write(head + body)

    def writelines(self, chunks: Sequence[bytes]) -> None:
        """Write at once, without joining the pieces."""
        if self._answer:
            self.flush()
        self._transport.writelines(chunks)

    def flush(self) -> None:
        """Write the answer that waits for the end of the iteration."""
        answer, self._answer = self._answer, b""
        if answer and not self._transport.is_closing():
            self._transport.write(answer)

    def write_eof(self) -> None:
        """Half-close the connection."""
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Close it after all is written."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close it now and drop unwritten data."""
        self._answer = b""
        self._transport.abort()
