"""What a connection of the direct front knows of the listener that keeps it."""

import asyncio
from typing import Protocol

from foreseal.server.access import Headers
from foreseal.server.callers import Peer
from foreseal.server.direct.transport import Turn
from foreseal.server.handler import Handler
from foreseal.server.websocket import Socket


class Kept(Protocol):
    """A connection, whatever it speaks."""

    def look(self, now: float, idle: float, wait: float) -> None:
        """End it where its client takes too long. Seconds."""

    def finish(self) -> None:
        """Let it end as soon as nothing is under way."""

    def abort(self) -> None:
        """End it now."""


class Keeper(Protocol):
    """Keeps connections."""

    loop: asyncio.AbstractEventLoop
    handler: Handler
    turn: Turn
    now: float
    """When all connections were looked at last, seconds on the loop's clock."""
    date: bytes
    """Of responses, to the second."""
    ok: bytes
    """What most responses begin with: up to their date and content type."""

    def opened(self, connection: Kept) -> None:
        """A connection is there."""

    def closed(self, connection: Kept) -> None:
        """A connection is gone."""

    def serve(self, websocket: Socket, path: str, peer: Peer, headers: Headers) -> None:
        """Serve a WebSocket to its end."""
