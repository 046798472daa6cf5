"""The scripted node behind a real WebSocket server, for tests of socket behaviour."""

import asyncio
import contextlib
from typing import Any

import orjson
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from client.scripted import ScriptedLink, ScriptedNode


class SocketNode(ScriptedNode):
    """Serves calls and feeds over WebSocket. It changes when its methods are called, on the event loop's thread."""

    def __init__(self) -> None:
        super().__init__()
        self.port = 0
        self.subscriptions = 0
        self.connected = 0
        self.left = asyncio.Event()
        """Set when a connection ended."""
        self.closed = asyncio.Event()
        """Set when a connection with a subscription ended."""
        self._server: Server | None = None

    async def listen(self, port: int = 0) -> None:
        """Accept connections, on the previous port or on a free one."""
        self._server = await serve(self._serve, "127.0.0.1", port or self.port, compression=None, ping_interval=None)
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        """Abort every connection, like a killed process."""
        assert self._server is not None
        for connection in self._server.connections:
            connection.transport.abort()
        self._server.close()
        await self._server.wait_closed()
        self.links.clear()

    async def _serve(self, connection: ServerConnection) -> None:
        self.connected += 1
        link = SocketLink(self, connection)
        self.links.append(link)
        sending = asyncio.create_task(link.write())
        try:
            async for message in connection:
                request = orjson.loads(message)
                if request["method"] in ("eth_subscribe", "eth_unsubscribe"):
                    self.subscriptions += request["method"] == "eth_subscribe"
                    link.send(orjson.dumps(request))
                else:
                    link.put(self.answer(request))
        except ConnectionClosed:
            pass
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            with contextlib.suppress(ValueError):
                self.links.remove(link)
            self.connected -= 1
            self.left.set()
            if link.subscribed:
                self.closed.set()


class SocketLink(ScriptedLink):
    """One connection: the queue of a scripted link is written to the socket."""

    def __init__(self, node: ScriptedNode, connection: ServerConnection) -> None:
        super().__init__(node)
        self._connection = connection
        self._more = asyncio.Event()

    @property
    def subscribed(self) -> bool:
        return bool(self._ident)

    def push(self, result: dict[str, Any], method: str = "eth_subscription") -> None:
        if self._ident:
            super().push(result, method)
            self._more.set()

    def send(self, message: bytes) -> None:
        super().send(message)
        self._more.set()

    def put(self, message: bytes) -> None:
        """Send a message unchanged."""
        self._queue.append(message)
        self._more.set()

    async def write(self) -> None:
        """Write the queue until the connection ends."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._more.wait()
                self._more.clear()
                while self._queue:
                    await self._connection.send(self._queue.popleft().decode())
