"""The endpoint as an ASGI application: HTTP requests and WebSockets, passed to its handler."""

import asyncio

from foreseal.client_disconnect import unless_disconnected
from foreseal.rpc.core_protocol import LargeAnswer
from foreseal.server.asgi.body_timeouts import BodyTimeouts
from foreseal.server.asgi.protocol import Receive, Scope, Send
from foreseal.server.asgi.websocket import AsgiWebSocket
from foreseal.server.auth.callers import Caller
from foreseal.server.auth.origins import Headers
from foreseal.server.endpoint import Endpoint
from foreseal.server.http.handler import CLOSE, HttpAnswer, HttpHandler, HttpResponse
from foreseal.server.http.headers import framing_error, is_host, is_websocket_key, repeated_header
from foreseal.server.websocket.connections import WebSocketConnections

INCOMPLETE = "the body is incomplete"
# Bytes of a large answer that are copied before other requests have their turn: about 0.25 ms.
_SLICE = 256 << 10


class AsgiEndpoint(Endpoint):
    """An endpoint as an ASGI application without its own lifespan."""

    def __init__(self, handler: HttpHandler, bodies: BodyTimeouts, connections: WebSocketConnections) -> None:
        super().__init__(handler, connections)
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request, or one WebSocket to its end."""
        headers = dict(scope["headers"])
        if scope["type"] == "websocket":
            websocket = AsgiWebSocket(scope, receive, send)
            malformed = self._malformed(scope, headers)
            if malformed is not None:
                await self.connections.deny(websocket, malformed)
                return
            await self.connections.serve(self.handler, websocket, scope["path"], scope.get("client"), headers)
            return
        response = self._malformed(scope, headers) or self.handler.route(scope["method"], scope["path"], headers)
        if response is None:
            answer = await self._call(scope, headers, receive)
            if answer is None:
                return
        else:
            answer = self.handler.add_cors(response, headers)
        status, lines, body = answer
        if self.handler.is_draining and CLOSE not in lines:
            lines.append(CLOSE)
        if not isinstance(body, bytes):
            lines.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": lines})
        if isinstance(body, bytes):
            await send({"type": "http.response.body", "body": body})
        else:
            await _send_slices(body, send)

    def _malformed(self, scope: Scope, headers: Headers) -> HttpResponse | None:
        """Return the error response to a malformed head that the ASGI server accepted; None for a valid one."""
        if len(headers) != len(scope["headers"]):
            name = repeated_header(scope["headers"])
            if name is not None:
                return self.handler.malformed(f"the header {name.decode('latin-1')} occurs twice")
        host = headers.get(b"host", b"")
        if not host and scope.get("http_version") == "1.1":
            return self.handler.malformed("the Host header is missing")
        if not is_host(host):
            return self.handler.malformed("the Host header is not a host name")
        text = framing_error(headers) if b"transfer-encoding" in headers else None
        if scope["type"] == "websocket":
            text = text or _handshake_error(scope, headers)
        elif headers.get(b"expect", b"100-continue").lower() != b"100-continue":
            text = "Expect must be 100-continue"
        return None if text is None else self.handler.malformed(text)

    async def _call(self, scope: Scope, headers: Headers, receive: Receive) -> HttpAnswer | None:
        """Read the body of a call and answer it; None if the client has disconnected."""
        handler = self.handler
        caller = handler.identify(scope.get("client"), headers, scope["path"])
        if isinstance(caller, HttpResponse):
            return handler.add_cors(caller, headers)
        body = await self._body(caller, headers, receive)
        if isinstance(body, HttpResponse):
            return handler.add_cors(body, headers)
        view = handler.view_header()
        reply = handler.answer(caller, headers, body)
        if isinstance(reply, tuple):
            status, answer, seconds = reply
        else:
            answered = await unless_disconnected(reply, receive)
            if answered is None:
                return None
            status, answer, seconds = answered
        # A plain tuple: creating a named one takes as long as parsing a call.
        return status, handler.response_headers(seconds, view, headers), answer

    async def _body(self, caller: Caller, headers: Headers, receive: Receive) -> bytes | HttpResponse:
        """Read the body of a call, or return an error response."""
        handler, bodies, largest = self.handler, self._bodies, caller.tier.largest
        reading = bodies.begin()
        try:
            message = await receive()
            if message["type"] != "http.request":
                return handler.malformed(INCOMPLETE)
            body = first = message.get("body", b"")
            # The message after the declared length is empty and costs a thread hop under granian: it is not received.
            declared = headers.get(b"content-length")
            if message.get("more_body", False) and declared != b"%d" % len(first):
                read = await _read_rest(first, declared, receive, largest)
                if isinstance(read, str):
                    return handler.malformed(read)
                if read is None:
                    return handler.too_large(caller)
                body = read
            elif declared is not None and declared.isdigit() and int(declared) != len(first):
                return handler.malformed(INCOMPLETE)
        except asyncio.CancelledError:
            if not bodies.was_late(reading):
                raise
            return handler.too_slow()
        finally:
            bodies.end(reading)
        return handler.too_large(caller) if len(body) > largest else bytes(body)


async def _send_slices(body: LargeAnswer, send: Send) -> None:
    """Send a large answer in slices, and let other requests run between two of them."""
    size = len(body)
    for start in range(0, size, _SLICE):
        stop = start + _SLICE
        await send({"type": "http.response.body", "body": body.slice(start, stop), "more_body": stop < size})
        await asyncio.sleep(0)


def _handshake_error(scope: Scope, headers: Headers) -> str | None:
    """Return the error of a WebSocket handshake that the ASGI server accepted; None if it is valid."""
    key = headers.get(b"sec-websocket-key")
    if key is not None and not is_websocket_key(key):
        return "Sec-WebSocket-Key must be 16 bytes in base64"
    if scope.get("http_version") == "1.0":
        return "WebSockets require HTTP/1.1"
    if headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers:
        return "a WebSocket handshake must not have a body"
    return None


async def _read_rest(body: bytes, declared: bytes | None, receive: Receive, largest: int) -> bytes | str | None:
    """Read the whole body that began with `body`.

    Return None as soon as it exceeds `largest`, and an error text for an incomplete body, which must not be executed.
    """
    # Some ASGI servers accept an invalid length; then the body ends where the server reports its end.
    length = int(declared) if declared is not None and declared.isdigit() else None
    received = bytearray(body)
    while len(received) <= largest:
        message = await receive()
        if message["type"] != "http.request":
            return INCOMPLETE
        received += message.get("body", b"")
        if len(received) == length:
            break
        if not message.get("more_body", False):
            return INCOMPLETE if length is not None and len(received) != length else bytes(received)
    return bytes(received) if len(received) <= largest else None
