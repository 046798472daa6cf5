"""The endpoint of a listener, for either transport: its handler, and the WebSockets of the process."""

from collections.abc import Callable

from foreseal.server.http.handler import HttpHandler
from foreseal.server.websocket.connections import WebSocketConnections


class Endpoint:
    """A handler, and the connections that it shares with the other endpoints of the process."""

    def __init__(self, handler: HttpHandler, connections: WebSocketConnections) -> None:
        self.handler = handler
        self.connections = connections
        self.drain_watchers: list[Callable[[], None]] = []
        """Called when draining begins."""

    def stop(self) -> None:
        """Drain as in `drain`, and report on `/readyz` that the node stops."""
        self.handler.is_stopping = True
        self.drain()

    def drain(self) -> None:
        """Close each connection with its next response."""
        self.handler.is_draining = True
        for watcher in self.drain_watchers:
            watcher()
