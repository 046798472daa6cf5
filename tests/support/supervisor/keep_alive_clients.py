"""Clients with keep-alive connections and continuous requests, and the outcomes of their requests."""

import asyncio
import threading
from collections import Counter

CALL = b'{"jsonrpc":"2.0","id":1,"method":"pid","params":[]}'
SLOW = b'{"jsonrpc":"2.0","id":1,"method":"slow","params":["x"]}'


class KeepAliveClients:
    """Runs clients on an event loop in a thread, from its creation to `join`."""

    def __init__(self, port: int, count: int, pause: float = 0.0) -> None:
        """Every second client makes slow calls; each waits `pause` seconds after a response."""
        self.answers: Counter[str] = Counter()
        """Responses by their result."""
        self.lost: list[str] = []
        """Requests that were sent completely and got no response, with the reason."""
        self.closed = 0
        """Connections whose close a response announced."""
        self._port = port
        self._count = count
        self._pause = pause
        self._end = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()

    def finish(self) -> None:
        """Send no new requests; sent ones must still get a response."""
        self._end.set()

    def join(self) -> None:
        """Finish like `finish`, and wait for the responses."""
        self.finish()
        self._thread.join()

    async def _run(self) -> None:
        await asyncio.gather(*(self._repeat(SLOW if number % 2 else CALL) for number in range(self._count)))

    async def _repeat(self, body: bytes) -> None:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        request = head % len(body) + body
        while not self._end.is_set():
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            stays = True
            while stays and not self._end.is_set():
                try:
                    writer.write(request)
                    head_ = await reader.readuntil(b"\r\n\r\n")
                    lines = head_.lower().split(b"\r\n")
                    size = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
                    answer = await reader.readexactly(size)
                except (OSError, asyncio.IncompleteReadError) as error:
                    self.lost.append(f"{body!r}: {error!r}")
                    break
                self.answers[answer.decode()] += 1
                if b"connection: close" in lines:
                    self.closed += 1
                    stays = False
                await asyncio.sleep(self._pause)
            writer.close()
