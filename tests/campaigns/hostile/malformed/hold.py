"""A process that holds connections with incomplete requests: `python -m hostile.malformed.hold`."""

import argparse
import asyncio
import sys
from collections import Counter

import orjson

from hostile.malformed.requests import HEAD
from hostile.wire import HANDSHAKE, frame

_CALL = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
_LISTEN = b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newFlashblocks"]}'

OPENINGS: dict[str, tuple[bytes, bytes]] = {
    "silent": (b"", b""),
    "half a head": (HEAD[:40], b""),
    "a head that trickles": (HEAD, b"X"),
    "half a body": (HEAD + b"Content-Length: 200\r\n\r\n{", b""),
    "a body that trickles": (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "an answer that nobody reads": (HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(_CALL), _CALL), b""),
    "a silent WebSocket": (HANDSHAKE, b""),
    "a WebSocket that nobody reads": (HANDSHAKE + frame(1, _LISTEN), b""),
    "half a frame": (HANDSHAKE + b"\x81\xfe\x40\x00" + bytes(4) + b"{", b" "),
}
"""First bytes of each kind, and the bytes that follow every second."""
CONNECT_TIME = 60.0
# Connections opened concurrently.
_AT_ONCE = 200


class Holder:
    """Connections of every kind, from as many local addresses as needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lines: list[tuple[str, asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.refused: Counter[str] = Counter()

    async def open(self, count: int) -> None:
        """Open this many connections."""
        kinds = list(OPENINGS)
        for begin in range(0, count, _AT_ONCE):
            await asyncio.gather(
                *(self._open(kinds[n % len(kinds)], n) for n in range(begin, min(begin + _AT_ONCE, count)))
            )

    async def _open(self, kind: str, number: int) -> None:
        source = (f"127.0.{1 + number // 250 % 100}.{1 + number % 250}", 0)
        try:
            connecting = asyncio.open_connection("127.0.0.1", self._port, local_addr=source, limit=1 << 12)
            reader, writer = await asyncio.wait_for(connecting, CONNECT_TIME)
        except (OSError, TimeoutError) as error:
            self.refused[type(error).__name__] += 1
            return
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(OPENINGS[kind][0])
        self._lines.append((kind, reader, writer))

    async def hold(self, seconds: float) -> None:
        """Hold the connections for some seconds; trickling ones send a few bytes every second."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end:
            for kind, _, writer in self._lines:
                if OPENINGS[kind][1] and not writer.is_closing():
                    writer.write(OPENINGS[kind][1])
            await asyncio.sleep(1)

    async def count(self) -> dict[str, int]:
        """Return the open connections of each kind."""
        open_: Counter[str] = Counter()
        for _, _, writer in self._lines:
            writer.transport.resume_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(1)
        for kind, reader, writer in self._lines:
            open_[kind] += not (reader.at_eof() or writer.is_closing() or reader.exception() is not None)
        return dict(open_)

    def close(self) -> None:
        """Abort all connections."""
        for _, _, writer in self._lines:
            writer.transport.abort()


async def run(port: int, count: int, seconds: float) -> dict[str, object]:
    """Open the connections, print that they are open, hold them, and return the remaining ones."""
    holder = Holder(port)
    await holder.open(count)
    opened = len(holder._lines)
    print(orjson.dumps({"opened": opened, "refused": holder.refused}).decode(), flush=True)
    await holder.hold(seconds)
    left = await holder.count()
    holder.close()
    return {"opened": opened, "refused": holder.refused, "still open": left}


def main() -> int:
    """Hold connections to a node on this machine."""
    parser = argparse.ArgumentParser(prog="python -m hostile.malformed.hold")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    print(orjson.dumps(asyncio.run(run(arguments.port, arguments.count, arguments.seconds))).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
