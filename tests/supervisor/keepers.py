"""Clients that keep their connections and never pause, and what becomes of their requests."""

import asyncio
import threading
from collections import Counter

CALL = b'{"jsonrpc":"2.0","id":1,"method":"pid","params":[]}'
SLOW = b'{"jsonrpc":"2.0","id":1,"method":"slow","params":["x"]}'


class Keepers:
    """Runs clients on a loop of a thread from its making to `join`."""

    def __init__(self, port: int, count: int, pause: float = 0.0) -> None:
        """Each second client makes slow calls; each waits `pause` seconds after an answer."""
        self.answers: Counter[str] = Counter()
        """Answers by their result."""
        self.lost: list[str] = []
        """Requests that were sent whole and never answered, and why."""
        self.told = 0
        """Connections that a response said it would end."""
        self._port = port
        self._count = count
        self._pause = pause
        self._end = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()

    def finish(self) -> None:
        """Let them send no more; what was sent must still be answered."""
        self._end.set()

    def join(self) -> None:
        """As `finish`, and wait for the answers."""
        self.finish()
        self._thread.join()

    async def _run(self) -> None:
        await asyncio.gather(*(self._keep(SLOW if number % 2 else CALL) for number in range(self._count)))

    async def _keep(self, body: bytes) -> None:
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
                    self.told += 1
                    stays = False
                await asyncio.sleep(self._pause)
            writer.close()
