"""All WebSocket connections of a process: their limits, idle timeouts and shutdown."""

import asyncio
import logging
from collections import defaultdict

from foreseal.rpc.fair_eviction import find_eviction_candidate
from foreseal.rpc.limits import Limits
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.rejected_call import TOO_MANY
from foreseal.rpc.subscription_hub import SubscriptionHub
from foreseal.server.auth.callers import Caller, Peer
from foreseal.server.auth.origins import Headers
from foreseal.server.http.handler import HttpHandler, HttpResponse
from foreseal.server.settings.model import PUBLIC
from foreseal.server.websocket.connection import CLOSE_TIME, GOING_AWAY, TRY_AGAIN_LATER, WebSocketConnection
from foreseal.server.websocket.socket import ClientDisconnected, WebSocket

log = logging.getLogger(__name__)

# Longest interval in seconds between two idle checks, and the fewest checks within the idle limit.
_MAX_CHECK_INTERVAL, _MIN_CHECKS = 1.0, 2
# Time limit in seconds for the close frame when the server is shutting down or a connection is evicted.
_LAST_CLOSE_TIME = 1.0


class WebSocketConnections:
    """Open WebSocket connections. Used from the event loop's thread only."""

    def __init__(
        self, hub: SubscriptionHub, limits: Limits, loop: asyncio.AbstractEventLoop, max_sends: int = 1
    ) -> None:
        """Create the set.

        `max_sends`: see `WebSocketConnection`; above 1 only behind a server that preserves the order of sends.
        """
        self.hub = hub
        self.refused = 0
        """Handshakes rejected because there were too many connections."""
        self.slow = 0
        """Connections closed with 1013 because their clients did not read, or could not receive everything."""
        self.evicted = 0
        """Connections evicted for those of other callers."""
        self._limits = limits
        self._max_sends = max_sends
        self._loop = loop
        # Counted connections in the order of their opening, and evicted ones that are closing.
        self._open: dict[WebSocketConnection, None] = {}
        self._closing: set[WebSocketConnection] = set()
        self._stopping = False
        idle = limits.idle / 1000
        self._interval = min(_MAX_CHECK_INTERVAL, idle / _MIN_CHECKS)
        self._idle_checks = round(idle / self._interval)
        self._timer = loop.call_later(self._interval, self._check_idle)

    def __len__(self) -> int:
        return len(self._open)

    async def serve(self, handler: HttpHandler, websocket: WebSocket, path: str, peer: Peer, headers: Headers) -> None:
        """Serve one WebSocket from its handshake to its end, with the methods of `handler`."""
        try:
            if not await websocket.connect():
                return
            caller = handler.reject_websocket(path, headers) or handler.identify(peer, headers, path)
            refusal = self._refuse(handler, caller) if isinstance(caller, Caller) else caller
            if refusal is not None:
                await websocket.deny(refusal)
                return
            assert isinstance(caller, Caller), "the other connections were rejected"
            await self._run(
                WebSocketConnection(websocket, handler, caller, self.hub.traffic, self._max_sends), caller, websocket
            )
        except ClientDisconnected as error:
            log.debug("client disconnected during the handshake: %s", error)

    async def deny(self, websocket: WebSocket, response: HttpResponse) -> None:
        """Answer a handshake with an HTTP response instead of a connection."""
        try:
            if await websocket.connect():
                await websocket.deny(response)
        except ClientDisconnected as error:
            log.debug("client disconnected during the handshake: %s", error)

    def close_invalid_keys(self) -> None:
        """Close connections whose API keys are no longer valid."""
        for connection in tuple(self._open):
            connection.close_if_key_invalid()

    def _refuse(self, handler: HttpHandler, caller: Caller) -> HttpResponse | None:
        """Return the rejection of a handshake for which there is no room; None if there is."""
        tier, limiter = caller.tier, caller.limiter
        max_connections = tier.limits.caller_connections
        if limiter is not None and max_connections is not None and limiter.connections >= max_connections:
            tier.refusals["caller_connections"] += 1
            return handler.busy(f"a caller may have at most {max_connections} connections", TOO_MANY)
        if self._stopping or not self._has_room(caller):
            self.refused += 1
            return handler.busy("too many connections: try again later")
        return None

    def _has_room(self, caller: Caller) -> bool:
        """Return True if a caller may open a connection; if needed, a connection of another caller is evicted."""
        tier, own = caller.tier, 0 if caller.limiter is None else caller.limiter.connections
        if len(tier.connections) >= tier.limits.connections:
            victim = self._longest_idle(tier.name, own)
        elif len(self._open) >= self._limits.connections:
            # Public callers never displace others.
            victim = self._longest_idle(PUBLIC, own if tier.name == PUBLIC else 0)
            if victim is None and tier.name != PUBLIC:
                victim = self._longest_idle(tier.name, own)
        else:
            return True
        if victim is None:
            return False
        self._evict(victim)
        return True

    def _longest_idle(self, tier: str, own: int) -> WebSocketConnection | None:
        """Return the longest idle connection of a tier's callers with the most, if they have more than `own`."""
        held: dict[RateLimiter | None, list[WebSocketConnection]] = defaultdict(list)
        for connection in self._open:
            if connection.caller.tier.name == tier:
                held[connection.caller.limiter].append(connection)
        # The oldest connection, if several are equally idle.
        return find_eviction_candidate(held.values(), own, lambda connection: -connection.idle_checks)

    def _evict(self, connection: WebSocketConnection) -> None:
        self.evicted += 1
        self._release(connection)
        self._closing.add(connection)
        connection.close_time = _LAST_CLOSE_TIME
        connection.end(TRY_AGAIN_LATER, "evicted in favour of another client: try again later")

    def _release(self, connection: WebSocketConnection) -> None:
        """Stop counting a connection."""
        if connection in self._open:
            del self._open[connection]
            caller = connection.caller
            caller.tier.connections.discard(connection)
            if caller.limiter is not None:
                caller.limiter.connections -= 1

    async def _run(self, connection: WebSocketConnection, caller: Caller, websocket: WebSocket) -> None:
        limiter = caller.limiter
        self._open[connection] = None
        caller.tier.connections.add(connection)
        if limiter is not None:
            limiter.connections += 1
        try:
            await websocket.accept(caller.tier.limits.connection_bytes)
            await connection.run()
        finally:
            self._release(connection)
            self._closing.discard(connection)
            self.slow += connection.is_slow
            connection.closed.set_result(None)

    async def stop(self, seconds: float) -> None:
        """Accept no more, let calls in progress finish within `seconds`, close all with 1001."""
        self._stopping = True
        self._timer.cancel()
        for connection in self._open:
            connection.close_time = _LAST_CLOSE_TIME
            connection.finish()
        await self._all_closed(seconds)
        for connection in self._open:
            connection.end(GOING_AWAY, "the server is shutting down")
        await self._all_closed(CLOSE_TIME + _LAST_CLOSE_TIME)
        if self._open:
            log.warning("connections still open at shutdown", extra={"connections": len(self._open)})

    async def _all_closed(self, seconds: float) -> None:
        closed = [connection.closed for connection in (*self._open, *self._closing)]
        if closed:
            await asyncio.wait(closed, timeout=seconds)

    def _check_idle(self) -> None:
        for connection in tuple(self._open):
            connection.check_idle(self._idle_checks)
        self._timer = self._loop.call_later(self._interval, self._check_idle)
