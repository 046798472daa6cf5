"""A reader of the feed's frames, which a replica would apply."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from benches.cluster.feed_wire import (
    APPEND,
    END,
    Append,
    FeedCursor,
    FeedProtocolError,
    FrameBuffer,
    encode_alive,
    encode_hello,
    encode_preamble,
    read_append,
)

_ALIVE_INTERVAL = 1.0
_ADMITTED = b"\0"
_CONNECT_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class FeedTarget:
    """Feed of a chain, and the secret of its followers."""

    port: int
    token: bytes
    chain_id: int
    genesis: bytes


class FeedReader(asyncio.Protocol):
    """One connection. Times are those of `time.perf_counter`."""

    def __init__(self, name: str, target: FeedTarget, on_append: Callable[[Append, float], None]) -> None:
        self.name = name
        self.cursor = FeedCursor(0)
        self.arrived: dict[int, float] = {}
        """Arrival time of each append, by its sequence number."""
        self.reconnected = 0
        self.received = 0
        """Bytes from the feed, over all connections."""
        self.failure: str | None = None
        self._target = target
        self._on_append = on_append
        self._run_id = os.urandom(16)
        self._frames = FrameBuffer()
        self._admitted: asyncio.Future[None] | None = None
        self._alive: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def next(self) -> int:
        """Sequence number of the append that it needs next."""
        return self.cursor.sequence + (self.cursor.hash is not None)

    async def open(self) -> "FeedReader":
        """Connect and greet with the cursor. Raises FeedProtocolError if the feed rejects the connection."""
        loop = asyncio.get_running_loop()
        self._frames, self._closing, self._admitted = FrameBuffer(), False, loop.create_future()
        await loop.create_connection(lambda: self, "127.0.0.1", self._target.port)
        await asyncio.wait_for(self._admitted, _CONNECT_TIMEOUT)
        self._alive = asyncio.create_task(self._send_alive())
        return self

    async def reconnect(self) -> None:
        """Connect again after the last append that it has."""
        self.close()
        await asyncio.sleep(0)
        self.reconnected += 1
        await self.open()

    def close(self) -> None:
        """Disconnect."""
        self._closing = True
        if self._alive is not None:
            self._alive.cancel()
        self._transport.close()

    async def _send_alive(self) -> None:
        while True:
            self._transport.write(encode_alive(self.next))
            await asyncio.sleep(_ALIVE_INTERVAL)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        target = self._target
        transport.write(encode_preamble(target.token))
        transport.write(encode_hello(target.chain_id, target.genesis, self.name, self._run_id, self.cursor))

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        now = time.perf_counter()
        self.received += len(data)
        if self._admitted is not None and not self._admitted.done():
            verdict, data = data[:1], data[1:]
            if verdict != _ADMITTED:
                self._admitted.set_exception(FeedProtocolError(f"{self.name}: rejected with verdict {verdict[0]}"))
                return
            self._admitted.set_result(None)
        try:
            for frame in self._frames.feed(data):
                if frame.kind == APPEND:
                    self._receive(read_append(frame.body), now)
                elif frame.kind == END:
                    self._fail(f"the feed ended the connection: {frame.body!r}")
        except FeedProtocolError as error:
            self._fail(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._closing:
            self._fail(f"connection lost: {exc}")

    def _receive(self, append: Append, now: float) -> None:
        if append.sequence != self.next:
            raise FeedProtocolError(f"append {append.sequence} came in place of {self.next}")
        self.cursor = FeedCursor(append.sequence, append.hash)
        self.arrived[append.sequence] = now
        self._on_append(append, now)

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        self.close()
