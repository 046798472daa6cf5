"""A process that sends malformed requests and checks every response: `python -m hostile.malformed.attack`."""

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable

import orjson

from hostile import wire
from hostile.malformed.requests import HEAD, HEADS, body, frame

from bodies import check_entry

ANSWER_TIME = 30.0
"""Seconds until a response or the end of the connection."""
# Maximum messages on one WebSocket.
_MESSAGES = 200
# Heads and WebSocket messages per thousand requests.
_HEADS, _FRAMES = 20, 80


class Attack:
    """Sends `count` requests over `lines` connections, at most `rate` per second."""

    def __init__(self, port: int, count: int, rate: float, seed: int) -> None:
        self.seen: Counter[str] = Counter()
        """Responses by kind: an HTTP status, a WebSocket response, or the end of the connection."""
        self.faults: list[str] = []
        self._port, self._left, self._rate = port, count, rate
        self._seed = seed
        self._began = 0.0
        self._sent = 0

    async def run(self, lines: int) -> None:
        """Send all requests."""
        self._began = asyncio.get_running_loop().time()
        await asyncio.gather(*(self._line(random.Random(self._seed * 1000 + line)) for line in range(lines)))

    async def _wait_until_due(self) -> bool:
        """Wait until the next request is due; return False when all are sent."""
        if self._left <= 0:
            return False
        self._left -= 1
        self._sent += 1
        if self._rate:
            due = self._began + self._sent / self._rate
            wait = due - asyncio.get_running_loop().time()
            if wait > 0:
                await asyncio.sleep(wait)
        return True

    async def _line(self, draw: random.Random) -> None:
        ways: list[Callable[[random.Random], Awaitable[None]]] = [self._bodies, self._heads, self._frames]
        # A connection carries up to 200 bodies or messages, but one head.
        shares = [1000 - _HEADS - _FRAMES, _HEADS * _MESSAGES, _FRAMES]
        while self._left > 0:
            (way,) = draw.choices(ways, shares)
            try:
                await way(draw)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.seen["closed"] += 1
            except TimeoutError:
                self.faults.append(f"no answer within {ANSWER_TIME} s to {way.__name__}")
            except Exception as error:  # any error counts as a fault of the server, and the attack continues
                self.faults.append(f"{way.__name__}: {error!r}")

    async def _bodies(self, draw: random.Random) -> None:
        """Send bodies over consecutive connections, until the server closes one or enough are sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            for _ in range(_MESSAGES):
                if not await self._wait_until_due():
                    break
                content = body(draw)
                writer.write(HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
                status, answer = await asyncio.wait_for(response(reader), ANSWER_TIME)
                self.seen[str(status)] += 1
                self._check(status, answer, content)
        finally:
            writer.close()

    async def _heads(self, draw: random.Random) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            if await self._wait_until_due():
                writer.write(draw.choice(HEADS))
                writer.write_eof()
                answer = await asyncio.wait_for(reader.read(1 << 20), ANSWER_TIME)
                self.seen[answer.split(b" ", 2)[1].decode() if answer else "closed"] += 1
                if b'"result"' in answer:
                    self.faults.append(f"served: {answer[:200]!r}")
        finally:
            writer.close()

    async def _frames(self, draw: random.Random) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(wire.HANDSHAKE)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), ANSWER_TIME)
            reading = asyncio.create_task(self._drain(reader))
            for _ in range(_MESSAGES):
                if reading.done() or not await self._wait_until_due():
                    break
                kind, payload = frame(draw)
                writer.write(wire.frame(kind, payload))
                await writer.drain()
                self.seen["frame"] += 1
            writer.write(wire.frame(8, b"\x03\xe8"))
            await asyncio.wait_for(reading, ANSWER_TIME)
        finally:
            writer.close()

    async def _drain(self, reader: asyncio.StreamReader) -> None:
        """Read and discard everything to the end."""
        try:
            while await reader.read(1 << 16):
                pass
        except ConnectionError:
            self.seen["closed"] += 1

    def _check(self, status: int, answer: bytes, content: bytes) -> None:
        if status not in (200, 204, 403, 413, 429):
            self.faults.append(f"status {status} for {content[:200]!r}")
        elif answer:
            parsed = orjson.loads(answer)
            for entry in parsed if isinstance(parsed, list) else [parsed]:
                check_entry(entry)


async def response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return status and body of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
    return int(head.split(b" ", 2)[1]), await reader.readexactly(sizes[0] if sizes else 0)


def main() -> int:
    """Attack a node on this machine; print the results as JSON."""
    parser = argparse.ArgumentParser(prog="python -m hostile.malformed.attack")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--rate", type=float, default=0, help="requests a second; 0 for all that it can")
    parser.add_argument("--lines", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    attack = Attack(arguments.port, arguments.count, arguments.rate, arguments.seed)
    asyncio.run(attack.run(arguments.lines))
    sys.stdout.buffer.write(orjson.dumps({"seen": attack.seen, "faults": attack.faults[:20]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
