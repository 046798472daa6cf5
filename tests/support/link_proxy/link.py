"""One link: a loopback listener that forwards to a target, as its state permits.

A cut direction loses nothing: bytes wait, as TCP retransmits them after a partition, and arrive late when it heals.
"""

import asyncio
import contextlib
from dataclasses import dataclass

_CHUNK_SIZE = 65536
# Chunks in flight per direction; then the sender waits.
_MAX_CHUNKS = 256


@dataclass(frozen=True, slots=True)
class LinkState:
    """State of a link: `forward` is from the connecting process to the target."""

    forward: bool = True
    backward: bool = True
    delay_ms: int = 0
    """Added to each direction."""


OPEN = LinkState()


class Link:
    """A listener for one target. Used from one event loop."""

    def __init__(self, target: int) -> None:
        """`target` is a loopback port."""
        self.target = target
        self.port = 0
        self.state = OPEN
        self._changed = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, port: int) -> None:
        """Listen on a loopback port, 0 for any free one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    def set_state(self, state: LinkState) -> None:
        """Apply a state to all connections, present and future."""
        self.state = state
        self._changed.set()
        self._changed = asyncio.Event()

    def reset(self) -> None:
        """Reset all connections; bytes that wait are lost."""
        for task in tuple(self._connections):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        other: asyncio.StreamWriter | None = None
        try:
            # A connection is established by packets in both directions.
            await self._wait_until_open(forward=True)
            await self._wait_until_open(forward=False)
            other_reader, other = await asyncio.open_connection("127.0.0.1", self.target)
            pipes = [
                asyncio.create_task(self._pipe(reader, other, forward=True)),
                asyncio.create_task(self._pipe(other_reader, writer, forward=False)),
            ]
            try:
                await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pipe in pipes:
                    pipe.cancel()
                await asyncio.gather(*pipes, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            # The target does not listen, or the link was reset.
            pass
        finally:
            self._connections.discard(task)
            for end in (writer, other):
                if end is not None:
                    end.transport.abort()

    async def _wait_until_open(self, *, forward: bool) -> None:
        while not (self.state.forward if forward else self.state.backward):
            await self._changed.wait()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, forward: bool) -> None:
        """Forward bytes in one direction until one side closes; the close arrives as late as bytes do."""
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_MAX_CHUNKS)
        receiving = asyncio.create_task(self._receive(reader, chunks))
        try:
            with contextlib.suppress(OSError):
                while True:
                    due, data = await chunks.get()
                    await asyncio.sleep(max(0.0, due - loop.time()))
                    await self._wait_until_open(forward=forward)
                    if not data:
                        return
                    writer.write(data)
                    await writer.drain()
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    async def _receive(self, reader: asyncio.StreamReader, chunks: "asyncio.Queue[tuple[float, bytes]]") -> None:
        loop = asyncio.get_running_loop()
        data = b"-"
        while data:
            try:
                data = await reader.read(_CHUNK_SIZE)
            except OSError:
                data = b""
            await chunks.put((loop.time() + self.state.delay_ms / 1000, data))
