"""HTTP requests and WebSockets of the ASGI protocol, handed to one handler."""

import asyncio

from foreseal.server.access import Headers
from foreseal.server.bodies import Bodies
from foreseal.server.callers import Peer
from foreseal.server.connections import Connections
from foreseal.server.handler import CLOSE, Answer, Handler, Response
from foreseal.server.websocket import Receive, Scope, Send, WebSocket


class Endpoint:
    """A handler as an ASGI application without a lifespan of its own."""

    def __init__(self, handler: Handler, bodies: Bodies, connections: Connections) -> None:
        self.handler = handler
        self.bodies = bodies
        self.connections = connections

    def stop(self) -> None:
        """As `leave`, and `/readyz` says that the node stops."""
        self.handler.stopping = True
        self.leave()

    def leave(self) -> None:
        """From now on each response ends its connection."""
        self.handler.leaving = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request, or one WebSocket to its end."""
        if scope["type"] == "websocket":
            websocket = WebSocket(scope, receive, send)
            headers = dict(scope["headers"])
            await self.connections.serve(self.handler, websocket, scope["path"], scope.get("client"), headers)
            return
        headers = dict(scope["headers"])
        response: Answer | None = self.handler.route(scope["method"], scope["path"], headers)
        if response is None:
            response = await self._call(scope.get("client"), headers, receive)
        status, lines, answer = response
        if self.handler.leaving and CLOSE not in lines:
            lines.append(CLOSE)
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": answer})

    async def _call(self, peer: Peer, headers: Headers, receive: Receive) -> Answer:
        """Read the body of a call and answer it."""
        body: bytes | None
        handler, bodies = self.handler, self.bodies
        caller = handler.identify(peer, headers)
        if isinstance(caller, Response):
            return caller
        tier = caller.tier
        reading = bodies.begin()
        try:
            message = await receive()
            body = first = message.get("body", b"")
            # The message after the declared length is empty and costs a thread hop under granian: it is not asked for.
            if message.get("more_body", False) and headers.get(b"content-length") != b"%d" % len(first):
                body = await _read_on(first, headers.get(b"content-length"), receive, tier.largest)
        except asyncio.CancelledError:
            if not bodies.was_late(reading):
                raise
            return handler.too_slow()
        finally:
            bodies.end(reading)
        if body is None or len(body) > tier.largest:
            return handler.too_large(caller)
        view = handler.view_header()
        reply = tier.answer(body, None, caller.meter)
        status, answer, seconds = reply if isinstance(reply, tuple) else await reply
        # A plain tuple: making a named one takes as long as parsing a call.
        return status, handler.response_headers(seconds, view, headers), answer


async def _read_on(body: bytes, declared: bytes | None, receive: Receive, largest: int) -> bytes | None:
    """The whole body that began with `body`; None as soon as it is larger than `largest`."""
    # Not every server in front refuses a length that is none; then the body ends where the server says.
    length = int(declared) if declared is not None and declared.isdigit() else None
    parts, size = [body], len(body)
    while size <= largest:
        message = await receive()
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size == length or not message.get("more_body", False):
            break
    return b"".join(parts) if size <= largest else None
