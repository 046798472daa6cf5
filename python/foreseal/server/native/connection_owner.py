"""Interface of the native transport's listener for its connections."""

import asyncio
from typing import Protocol

from foreseal._core import ListenerClock, WriteBatch
from foreseal.server.auth.callers import Peer
from foreseal.server.auth.origins import Headers
from foreseal.server.http.handler import HttpHandler
from foreseal.server.native.backlog import Backlog
from foreseal.server.native.connection_table import ConnectionTable, TrackedConnection
from foreseal.server.websocket.socket import WebSocket


class OwnedConnection(TrackedConnection, Protocol):
    """A connection of either protocol."""

    def enforce_timeouts(self, now: float, idle: float) -> None:
        """Close it if its client exceeds a time limit. Times are in seconds."""

    def finish(self) -> None:
        """Close it once nothing is in progress."""


class ConnectionOwner(Protocol):
    """Interface of the listener."""

    loop: asyncio.AbstractEventLoop
    handler: HttpHandler
    write_batch: WriteBatch
    backlog: Backlog
    table: ConnectionTable
    now: float
    """Time of the last check of all connections, seconds on the loop's clock."""
    date: bytes
    """Date of responses, to the second."""
    ok: bytes
    """Start of most responses, up to their date and content type."""
    clock: ListenerClock
    """`now` and `ok`, for requests that are answered in the core."""

    def opened(self, connection: OwnedConnection) -> None:
        """Add a connection."""

    def closed(self, connection: OwnedConnection) -> None:
        """Remove a connection."""

    def serve(self, websocket: WebSocket, path: str, peer: Peer, headers: Headers) -> None:
        """Serve a WebSocket to its end."""
