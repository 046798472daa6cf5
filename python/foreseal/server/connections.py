"""All WebSocket connections of a process: how many there may be, which are idle, how they end with it."""

import asyncio
import logging

from foreseal.rpc.hub import Hub
from foreseal.rpc.limits import Limits
from foreseal.server.connection import CLOSE_TIME, GOING_AWAY, Connection
from foreseal.server.handler import Handler
from foreseal.server.websocket import Gone, Receive, Scope, Send, WebSocket

log = logging.getLogger(__name__)

# A connection is idle when so many looks in a row found it quiet: it is closed after the limit and half of it at most.
_LOOKS = 2
# Seconds for the close frame when the server stops.
_LAST_CLOSE_TIME = 1.0


class Connections:
    """Used from the event loop's thread only."""

    def __init__(self, hub: Hub, limits: Limits, loop: asyncio.AbstractEventLoop, ahead: int = 1) -> None:
        """`ahead`: see `Connection`; more than one only behind a server that keeps the order of what was begun."""
        self.hub = hub
        self.refused = 0
        """Handshakes refused because there were too many connections."""
        self.slow = 0
        """Connections closed with 1013, since their clients did not read or could not be told everything."""
        self._limits = limits
        self._ahead = ahead
        self._loop = loop
        self._open: set[Connection] = set()
        self._stopping = False
        self._interval = limits.idle / 1000 / _LOOKS
        self._timer = loop.call_later(self._interval, self._look)

    def __len__(self) -> int:
        return len(self._open)

    async def serve(self, handler: Handler, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket from its handshake to its end, with the methods of `handler`."""
        websocket = WebSocket(scope, receive, send)
        try:
            if not await websocket.connect():
                return
            refusal = handler.refuse_websocket(scope["path"], dict(scope["headers"]))
            if refusal is None and (self._stopping or len(self._open) >= self._limits.connections):
                self.refused += 1
                refusal = handler.busy("too many connections: try again later")
            if refusal is not None:
                await websocket.deny(refusal)
                return
            connection = Connection(websocket, handler, self._limits, self.hub.traffic, self._ahead)
            self._open.add(connection)
            try:
                await websocket.accept()
                await connection.run()
            finally:
                self._open.discard(connection)
                self.slow += connection.slow
                connection.closed.set_result(None)
        except Gone as gone:
            log.debug("a client left during the handshake: %s", gone)

    async def stop(self, seconds: float) -> None:
        """Take no more, let calls under way finish within `seconds`, close all with 1001."""
        self._stopping = True
        self._timer.cancel()
        for connection in self._open:
            connection.close_time = _LAST_CLOSE_TIME
            connection.finish()
        await self._all_closed(seconds)
        for connection in self._open:
            connection.end(GOING_AWAY, "the server stops")
        await self._all_closed(CLOSE_TIME + _LAST_CLOSE_TIME)
        if self._open:
            log.warning("connections were still open when the server stopped", extra={"connections": len(self._open)})

    async def _all_closed(self, seconds: float) -> None:
        if self._open:
            await asyncio.wait([connection.closed for connection in self._open], timeout=seconds)

    def _look(self) -> None:
        for connection in tuple(self._open):
            connection.look(_LOOKS)
        self._timer = self._loop.call_later(self._interval, self._look)
