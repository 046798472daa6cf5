"""One hostile address: endless connections, calls and frames until its time is over."""

import asyncio
import contextlib
import itertools
import random
import re
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

from hostile.facts import Facts
from hostile.signing import Account
from hostile.wire import Connection, Response

LANES = 16
"""Default connections of one address: the number of long calls that a public caller may have."""
_RETRY = 0.02
"""Seconds before a lane reconnects, so that a closed port does not cause a busy loop."""
_CONNECT_TIME = 10.0
_FLOOD_BLOCK = 1 << 16
_ERROR_CODE = re.compile(rb'"error":\{"code":(-?[0-9]+)')
Bodies = Callable[[], bytes]
Act = Callable[[Connection], Awaitable[None]]
_ENDS = (OSError, asyncio.IncompleteReadError, ValueError, LookupError, asyncio.LimitOverrunError)
"""Errors of a closed connection or an invalid response; the attack continues."""


class Client:
    """Traffic from one loopback address."""

    def __init__(self, number: int, facts: Facts, account: list[Account], deadline: float, seen: Counter[str]) -> None:
        self.number = number
        self.address = f"127.0.0.{2 + number % 250}"
        self.facts = facts
        self.accounts = account
        """Funded accounts that only this address uses."""
        self.deadline = deadline
        self.seen = seen
        """Counts of responses and closed connections, shared by all addresses of the process."""
        self.draw = random.Random(number)
        self.tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        """The port under attack."""
        return self.facts.port

    def ticks(self, interval: float = 0.0) -> Iterator[int]:
        """Count until the time is over."""
        return itertools.takewhile(lambda _: time.monotonic() < self.deadline, itertools.count())

    async def connect(self, *, plain: bool = False, buffer: int | None = None) -> Connection:
        """Open a connection from this address."""
        tls = None if plain else self.tls
        async with asyncio.timeout(_CONNECT_TIME):
            return await Connection.open(self.port, self.address, tls, buffer=buffer)

    async def lanes(self, count: int, act: Act, *, buffer: int | None = None, retry: float = _RETRY) -> None:
        """Run `act` on this many connections at once; one that ends is replaced after `retry` seconds."""
        await asyncio.gather(*(self._lane(act, buffer, retry) for _ in range(count)))

    async def _lane(self, act: Act, buffer: int | None, retry: float) -> None:
        for _ in self.ticks():
            connection = None
            try:
                connection = await self.connect(buffer=buffer)
                self.seen["connections"] += 1
                await act(connection)
            except _ENDS as error:
                self.seen[f"ended: {type(error).__name__}"] += 1
                retry = max(retry, _RETRY)
            finally:
                if connection is not None:
                    connection.close()
            await asyncio.sleep(retry)

    async def calls(self, bodies: Bodies, lanes: int = LANES, *, backoff: float = 0.01) -> None:
        """Call in a loop on this many connections; after a rejection wait `backoff` seconds."""

        async def act(connection: Connection) -> None:
            for _ in self.ticks():
                response = await connection.post(bodies())
                self.note(response)
                if response.status != 200:
                    await asyncio.sleep(backoff)

        await self.lanes(lanes, act)

    def note(self, response: Response) -> None:
        """Count a response."""
        outcome = str(response.status)
        match = _ERROR_CODE.search(response.body[:300])
        if match is not None:
            outcome += f" error {match[1].decode()}"
        self.seen[outcome] += 1

    async def flood(self, data: bytes, lanes: int = 1, *, opening: bytes = b"", read: bool = False) -> None:
        """Send an opening once, then the same bytes in a loop, with or without reading responses."""
        block = data * max(_FLOOD_BLOCK // len(data), 1)

        async def act(connection: Connection) -> None:
            connection.send(opening)
            await self._repeat(connection, block, read=read)

        await self.lanes(lanes, act)

    async def trickle(self, opening: bytes, piece: bytes, interval: float, lanes: int) -> None:
        """Send an opening, then one piece at a time."""

        async def act(connection: Connection) -> None:
            connection.send(opening)
            reading = asyncio.create_task(discard(connection))
            try:
                while time.monotonic() < self.deadline and not reading.done():
                    await connection.drain(piece)
                    await asyncio.sleep(interval)
            finally:
                reading.cancel()

        await self.lanes(lanes, act)

    async def sockets(self, count: int, act: Act, *, buffer: int | None = None, retry: float = _RETRY) -> None:
        """Run `act` on this many WebSockets at once; one that ends is replaced."""

        async def run(connection: Connection) -> None:
            status = await connection.upgrade()
            self.seen[f"handshake {status}"] += 1
            if status == 101:
                await act(connection)
            else:
                await asyncio.sleep(_RETRY)

        await self.lanes(count, run, buffer=buffer, retry=retry)

    async def frames(self, block: bytes, sockets: int = 1, *, opening: bytes = b"", read: bool = False) -> None:
        """Send an opening once, then the same frames in a loop, on this many WebSockets."""

        async def act(connection: Connection) -> None:
            connection.send(opening)
            await self._repeat(connection, block, read=read)

        await self.sockets(sockets, act)

    async def _repeat(self, connection: Connection, block: bytes, *, read: bool) -> None:
        reading = asyncio.create_task(discard(connection)) if read else None
        if reading is None:
            connection.stop_reading()
        try:
            for _ in self.ticks():
                await connection.drain(block)
                self.seen["bytes"] += len(block)
                await asyncio.sleep(0)
        finally:
            if reading is not None:
                reading.cancel()


async def discard(connection: Connection) -> None:
    """Read and discard everything to the end."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while await connection.reader.read(1 << 16):
            pass
