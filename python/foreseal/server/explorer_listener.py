"""Listener of the explorer: the same calls as the public listener, and the pages."""

import socket

from foreseal.pages import StaticSite
from foreseal.server.auth.callers import Callers
from foreseal.server.endpoint import Endpoint
from foreseal.server.http.handler import HandlerNode, HttpHandler
from foreseal.server.native import NativeListener
from foreseal.server.processes.process_table import ProcessTable
from foreseal.server.settings import Settings
from foreseal.server.sockets.address import AddressError
from foreseal.server.sockets.listening import raise_connection_limit
from foreseal.server.websocket.connections import WebSocketConnections


class ExplorerListener:
    """A native listener with an endpoint of its own; callers, limits and WebSockets are those of the process."""

    def __init__(
        self,
        listening: socket.socket,
        settings: Settings,
        node: HandlerNode,
        callers: Callers,
        connections: WebSocketConnections,
        processes: ProcessTable | None,
    ) -> None:
        """Take over `listening`."""
        site = StaticSite("explorer")
        self.handler = HttpHandler(node, callers, settings, connections, processes=processes, site=site)
        self._endpoint = Endpoint(self.handler, connections)
        limit = raise_connection_limit(settings.limits.open)
        self._listener = NativeListener(self._endpoint, listening, settings.listen.tls, limit)
        self.url = f"{self._listener.url}{site.prefix}"
        """URL of the explorer."""

    async def start(self) -> None:
        """Start to serve. Raises `AddressError`."""
        if not await self._listener.start():
            raise AddressError(f"cannot listen on {self._listener.url}")

    def begin_stop(self) -> None:
        """Report on `/readyz` that the node stops, and close connections with their next response."""
        self._endpoint.stop()

    def retire(self) -> None:
        """Accept no more connections, and close each with its next response: clients reconnect to another process."""
        self._listener.stop_accepting()
        self._endpoint.drain()

    async def stop(self, seconds: float) -> None:
        """Accept no more connections, and wait until the open ones have ended, at most `seconds`."""
        await self._listener.stop(seconds)
