"""All WebSocket connections of a process: how many there may be, which are idle, how they end with it."""

import asyncio
import logging

from foreseal.rpc.hub import Hub
from foreseal.rpc.limits import Limits
from foreseal.rpc.refused import TOO_MANY
from foreseal.server.access import Headers
from foreseal.server.callers import Caller, Peer
from foreseal.server.connection import CLOSE_TIME, GOING_AWAY, Connection
from foreseal.server.handler import Handler, Response
from foreseal.server.websocket import Gone, Socket

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

    async def serve(self, handler: Handler, websocket: Socket, path: str, peer: Peer, headers: Headers) -> None:
        """Serve one WebSocket from its handshake to its end, with the methods of `handler`."""
        try:
            if not await websocket.connect():
                return
            caller = handler.refuse_websocket(path, headers) or handler.identify(peer, headers)
            refusal = self._refuse(handler, caller) if isinstance(caller, Caller) else caller
            if refusal is not None:
                await websocket.deny(refusal)
                return
            assert isinstance(caller, Caller), "the others were refused"
            await self._run(Connection(websocket, handler, caller, self.hub.traffic, self._ahead), caller, websocket)
        except Gone as gone:
            log.debug("a client left during the handshake: %s", gone)

    async def deny(self, websocket: Socket, response: Response) -> None:
        """Answer a handshake with an HTTP response in place of a connection."""
        try:
            if await websocket.connect():
                await websocket.deny(response)
        except Gone as gone:
            log.debug("a client left during the handshake: %s", gone)

    def review(self) -> None:
        """Close those whose API keys are no longer good."""
        for connection in tuple(self._open):
            connection.review()

    def _refuse(self, handler: Handler, caller: Caller) -> Response | None:
        """The response to a handshake for which there is no room; None if there is."""
        tier, meter = caller.tier, caller.meter
        most = tier.limits.caller_connections
        if meter is not None and most is not None and meter.connections >= most:
            tier.refusals["caller_connections"] += 1
            return handler.busy(f"you may have at most {most} connections at once", TOO_MANY)
        full = len(self._open) >= self._limits.connections or len(tier.connections) >= tier.limits.connections
        if self._stopping or full:
            self.refused += 1
            return handler.busy("too many connections: try again later")
        return None

    async def _run(self, connection: Connection, caller: Caller, websocket: Socket) -> None:
        meter = caller.meter
        self._open.add(connection)
        caller.tier.connections.add(connection)
        if meter is not None:
            meter.connections += 1
        try:
            await websocket.accept()
            await connection.run()
        finally:
            self._open.discard(connection)
            caller.tier.connections.discard(connection)
            if meter is not None:
                meter.connections -= 1
            self.slow += connection.slow
            connection.closed.set_result(None)

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
