"""What a connection writes with: short answers made in one turn of the event loop leave together at its end.

A `send` to a client that sleeps wakes it, which takes longer than many an answer; sends that follow find it awake.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

# Connections that wait for the end of a turn, at most: the first one's answer is not held up by many.
TOGETHER = 16
# Longer answers leave at once: what they take to be written is more than what is saved.
LONG = 32 * 1024


class Turn:
    """The connections that have an answer to write at the end of this turn of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transports: list[Transport] = []
        self.alone = True
        """Whether there is one connection at most: nobody else's answer is worth waiting for."""

    def add(self, transport: "Transport") -> None:
        """It has something to write."""
        transports = self._transports
        if not transports:
            self._loop.call_soon(self._end)
        transports.append(transport)
        if len(transports) == TOGETHER:
            self._end()

    def _end(self) -> None:
        transports, self._transports = self._transports, []
        for transport in transports:
            transport.flush()


class Transport:
    """A connection's transport. Used from the event loop's thread only."""

    __slots__ = (
        "_answer",
        "_transport",
        "_turn",
        "can_write_eof",
        "get_extra_info",
        "get_write_buffer_size",
        "is_closing",
        "pause_reading",
        "resume_reading",
        "set_protocol",
    )

    def __init__(self, transport: Any, turn: Turn) -> None:
        self._transport, self._turn = transport, turn
        # Written at the end of the turn; empty where nothing is.
        self._answer = b""
        self.can_write_eof = transport.can_write_eof
        self.get_extra_info = transport.get_extra_info
        self.get_write_buffer_size = transport.get_write_buffer_size
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.set_protocol = transport.set_protocol

    def write_soon(self, answer: bytes) -> None:
        """Write an answer at the end of this turn; whatever is written after it comes after it."""
        if self._answer or self._turn.alone or len(answer) > LONG:
            self.write(answer)
        else:
            self._answer = answer
            self._turn.add(self)

    def write(self, data: bytes) -> None:
        """Write at once."""
        if self._answer:
            self.flush()
        self._transport.write(data)

    def writelines(self, pieces: Sequence[bytes]) -> None:
        """Write at once, without joining the pieces."""
        if self._answer:
            self.flush()
        self._transport.writelines(pieces)

    def flush(self) -> None:
        """Write what waits for the end of the turn."""
        answer, self._answer = self._answer, b""
        if answer and not self._transport.is_closing():
            self._transport.write(answer)

    def write_eof(self) -> None:
        """Say that nothing more comes."""
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        """End it when all is written."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """End it now, whatever was written."""
        self._answer = b""
        self._transport.abort()
