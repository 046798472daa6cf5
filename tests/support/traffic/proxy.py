"""A TCP proxy that breaks its connections at random bytes."""

import asyncio
import contextlib
import random
import socket

_CHUNK = 65536
# Bytes that the system buffers per connection, by default several MB.
_BUFFER = 65536


class CuttingProxy:
    """Forwards connections to `target`, each for a random number of bytes; then resets both of its ends."""

    def __init__(self, target: int, rng: random.Random, mean: int | None) -> None:
        """`target` is a local port; `mean` is the average number of bytes before a cut, None: no cuts."""
        self.target = target
        """May be set at any time; it applies to later connections."""
        self.mean = mean
        self.port = 0
        self.connections = 0
        self.cuts = 0
        self._rng = rng
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen on a free loopback port."""
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and end all connections."""
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        other: asyncio.StreamWriter | None = None
        try:
            with contextlib.suppress(OSError):
                other_reader, other = await _connect(self.target)
                budget = _Budget(None if self.mean is None else int(self._rng.expovariate(1 / self.mean)))
                pipes = [
                    asyncio.create_task(_pipe(*each, budget)) for each in ((reader, other), (other_reader, writer))
                ]
                try:
                    await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pipe in pipes:
                        pipe.cancel()
                    await asyncio.gather(*pipes, return_exceptions=True)
                self.cuts += budget.left == 0
        finally:
            for end in (writer, other):
                if end is not None:
                    end.transport.abort()


async def _connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection with small buffers, so that a slow reader slows down the node."""
    end = socket.socket()
    end.setblocking(False)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    try:
        await asyncio.get_running_loop().sock_connect(end, ("127.0.0.1", port))
    except BaseException:
        end.close()
        raise
    return await asyncio.open_connection(sock=end)


class _Budget:
    """Remaining bytes, both directions combined."""

    def __init__(self, left: int | None) -> None:
        self.left = left

    def consume(self, data: bytes) -> bytes:
        if self.left is None:
            return data
        data = data[: self.left]
        self.left -= len(data)
        return data


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: _Budget) -> None:
    """Forward bytes until one side closes, or the budget is exhausted."""
    with contextlib.suppress(OSError):
        while budget.left != 0 and (data := await reader.read(_CHUNK)):
            writer.write(budget.consume(data))
            await writer.drain()
