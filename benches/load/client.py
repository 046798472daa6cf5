"""A load generator: a fixed number of connections, on each one request after the other."""

import asyncio
import time
from dataclasses import dataclass

CONNECTIONS = 16
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(frozen=True)
class Round:
    """What one round measured."""

    requests: int
    seconds: float
    latencies: list[float]
    """Seconds of a sample of the requests."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


class Connection(asyncio.Protocol):
    """Sends the request again as soon as its answer is whole. Fails on any answer but a result with HTTP 200."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.count = 0
        self.latencies: list[float] = []
        self.failure: str | None = None
        self.stopped = False
        self.closed = asyncio.get_running_loop().create_future()
        self._buffer = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        head = data.find(_HEAD_END)
        at = data.find(_LENGTH, 0, head)
        if head < 0 or len(data) < head + 4 + int(data[at + len(_LENGTH) : data.find(b"\r", at)]):
            self._buffer = data
            return
        self._buffer = b""
        self.count += 1
        if self.count % 64 == 0:
            self.latencies.append(time.perf_counter() - self._sent)
        if not data.startswith(b"HTTP/1.1 200") or b'"result"' not in data:
            self.failure = data.decode("latin-1")
            self.stopped = True
        if self.stopped:
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)


def http_request(port: int, body: bytes) -> bytes:
    """The bytes of a POST as an ordinary client sends it."""
    return (
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        b"User-Agent: foreseal-load\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%b" % (port, len(body), body)
    )


async def run(port: int, body: bytes, seconds: float) -> Round:
    """Load the server on `port` for a while. Raises RuntimeError with the first wrong answer."""
    loop = asyncio.get_running_loop()
    request = http_request(port, body)
    started = time.perf_counter()
    connections = [
        (await loop.create_connection(lambda: Connection(request), "127.0.0.1", port))[1] for _ in range(CONNECTIONS)
    ]
    await asyncio.sleep(seconds)
    elapsed = time.perf_counter() - started
    requests = sum(connection.count for connection in connections)
    for connection in connections:
        connection.stopped = True
    await asyncio.wait_for(asyncio.gather(*(connection.closed for connection in connections)), 10)
    for connection in connections:
        if connection.failure:
            raise RuntimeError(f"wrong answer: {connection.failure}")
    return Round(requests, elapsed, [latency for connection in connections for latency in connection.latencies])
