"""The endpoint of a listener, for either transport: its handler, and the WebSockets of the process."""

from foreseal.server.http.handler import Handler
from foreseal.server.websocket.connections import Connections


class Endpoint:
    """A handler, and the connections that it shares with the other endpoints of the process."""

    def __init__(self, handler: Handler, connections: Connections) -> None:
        self.handler = handler
        self.connections = connections

    def stop(self) -> None:
        """Drain as in `leave`, and report on `/readyz` that the node stops."""
        self.handler.stopping = True
        self.leave()

    def leave(self) -> None:
        """Close each connection with its next response."""
        self.handler.leaving = True
