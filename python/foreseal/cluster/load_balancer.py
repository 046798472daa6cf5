"""A toy TCP load balancer for `foreseal cluster dev`. A real cluster uses nginx or HAProxy.

It polls `/readyz` of each target, sends a new connection to the ready target with the fewest connections, and closes
the connections of a target that is no longer ready, so that clients reconnect to another one. If no target is ready, as
without a quorum of etcd, those that answer serve reads from their last step.
"""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

_CHECK_INTERVAL = 0.25
_CHECK_TIMEOUT = 1.0
_CONNECT_TIMEOUT = 1.0
_CHUNK_SIZE = 65536
MAX_CONNECTIONS = 1024
_REQUEST = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


class TargetHealth(IntEnum):
    """Answer of a target to the last check, the best first."""

    READY = 0
    UNREADY = 1
    """It answers, but is not ready."""
    SILENT = 2


@dataclass(eq=False)
class BalancedTarget:
    """A node process behind the load balancer."""

    port: int
    health: TargetHealth = TargetHealth.SILENT
    connections: set["asyncio.Task[None]"] = field(default_factory=set)


class LoadBalancer:
    """Distributes loopback connections over node processes. Used from one event loop."""

    def __init__(self, ports: Sequence[int]) -> None:
        """`ports` are loopback ports of the node processes."""
        self.targets = [BalancedTarget(port) for port in ports]
        self.port = 0
        """Port that clients connect to, once started."""
        self._server: asyncio.Server | None = None
        self._checks: list[asyncio.Task[None]] = []

    async def start(self, listening: socket.socket) -> None:
        """Check each target, then serve the connections of a listening socket, which is closed at the end."""
        for target in self.targets:
            target.health = await _check(target.port)
        self._server = await asyncio.start_server(self._serve, sock=listening)
        self.port = listening.getsockname()[1]
        self._checks = [asyncio.create_task(self._check_forever(target)) for target in self.targets]

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        assert self._server is not None, "it was started"
        self._server.close()
        tasks = [*self._checks, *(task for target in self.targets for task in target.connections)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _check_forever(self, target: BalancedTarget) -> None:
        while True:
            target.health = await _check(target.port)
            if target not in self._usable_targets():
                for connection in tuple(target.connections):
                    connection.cancel()
            await asyncio.sleep(_CHECK_INTERVAL)

    def _usable_targets(self) -> list[BalancedTarget]:
        """Return the ready targets; without one those that answer, and without any all of them."""
        best = min((target.health for target in self.targets), default=TargetHealth.SILENT)
        return [target for target in self.targets if target.health == best]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "it runs in a task"
        other: asyncio.StreamWriter | None = None
        target: BalancedTarget | None = None
        try:
            target, other_reader, other = await self._connect(task)
            if other is not None:
                await _pipe_both((reader, other), (other_reader, writer))
        except asyncio.CancelledError:
            # Another target is in a better state, or the load balancer stops: the client reconnects.
            pass
        finally:
            if target is not None:
                target.connections.discard(task)
            for end in (writer, other):
                if end is not None:
                    end.transport.abort()

    async def _connect(
        self, task: "asyncio.Task[None]"
    ) -> tuple[BalancedTarget | None, asyncio.StreamReader, asyncio.StreamWriter | None]:
        """Open a connection to the usable target with the fewest; without one the writer is None."""
        if sum(len(target.connections) for target in self.targets) < MAX_CONNECTIONS:
            for target in sorted(self._usable_targets(), key=lambda each: len(each.connections)):
                target.connections.add(task)
                with contextlib.suppress(OSError, TimeoutError):
                    opening = asyncio.open_connection("127.0.0.1", target.port)
                    return target, *await asyncio.wait_for(opening, _CONNECT_TIMEOUT)
                target.connections.discard(task)
        return None, asyncio.StreamReader(), None


async def _check(port: int) -> TargetHealth:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_CHECK_TIMEOUT):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(_REQUEST)
                status = (await reader.readline()).split()[1:2]
            finally:
                writer.transport.abort()
        if status:
            return TargetHealth.READY if status == [b"200"] else TargetHealth.UNREADY
    return TargetHealth.SILENT


async def _pipe_both(*pairs: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Forward bytes in both directions until one side closes."""
    pipes = [asyncio.create_task(_pipe(*pair)) for pair in pairs]
    try:
        await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pipe in pipes:
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK_SIZE):
            writer.write(data)
            await writer.drain()
