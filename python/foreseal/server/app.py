"""The ASGI application: a thin adapter over the handler, and the life of the node behind it."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from foreseal import _core
from foreseal.errors import NodeError
from foreseal.rpc import Dispatcher, Registry
from foreseal.rpc.registry import Function
from foreseal.server.access import Headers
from foreseal.server.bodies import Bodies
from foreseal.server.handler import Answer, Handler
from foreseal.server.settings import Settings, SettingsError

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# Seconds that calls under way get to finish when the server stops.
DRAIN_TIME = 10.0
# Seconds between two looks at a node that starts.
_LOOK = 0.05
_POLICY_VIOLATION = 1008


class App:
    """A node and its endpoint as an ASGI application.

    Served by granian or uvicorn it takes its settings from FORESEAL_* variables, and the server's lifespan starts and
    stops the node. `settings` given here take the place of the variables.
    """

    def __init__(self, settings: Settings | None = None, make_node: Callable[[bytes], Any] | None = None) -> None:
        """`make_node` opens the node from settings as JSON; tests put a double of `_core.Node` in its place."""
        self.registry = Registry()
        self._settings = settings
        self._make_node = make_node
        self._node: Any = None
        self._dispatcher: Dispatcher | None = None
        self._handler: Handler | None = None
        self._bodies: Bodies | None = None

    def method(self, name: str) -> Callable[[Function], Function]:
        """Register the decorated function as the JSON-RPC method `name`: see `Registry.method`."""
        return self.registry.method(name)

    async def startup(self) -> None:
        """Open the node and start it; its journal is replayed while requests are answered already.

        Raises `SettingsError` and `NodeError`.
        """
        settings = self._settings or Settings.from_environment(os.environ)
        # Opening reads the journal's segments: off the loop, so that signals are heard meanwhile.
        node = await asyncio.to_thread(self._make_node or _core.Node, settings.for_core())
        dispatcher = Dispatcher(node, settings.limits, self.registry, settings.forbidden)
        loop = asyncio.get_running_loop()
        dispatcher.calls.completions.attach(loop)
        node.start()
        self._node, self._dispatcher = node, dispatcher
        self._handler = Handler(node, dispatcher, settings)
        self._bodies = Bodies(loop, settings.limits.wait)

    async def started(self) -> None:
        """Wait until the journal is replayed. Raises `NodeError` with the reason if it cannot be."""
        while self._node is not None and not self._node.ready()[0]:
            good, reason = self._node.health()
            if not good:
                raise NodeError("start", reason)
            await asyncio.sleep(_LOOK)

    async def shutdown(self) -> None:
        """Let calls under way finish, then stop the node: it saves its pool and closes its journal."""
        if self._dispatcher is None or self._bodies is None:
            return
        self._bodies.stop()
        completions = self._dispatcher.calls.completions
        try:
            await asyncio.wait_for(completions.drained(), DRAIN_TIME)
        except TimeoutError:
            log.warning("calls were still running when the server stopped", extra={"calls": len(completions)})
        completions.detach()
        node, self._node, self._dispatcher, self._handler = self._node, None, None, None
        await asyncio.to_thread(node.stop)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one ASGI scope: http, lifespan; a WebSocket is refused."""
        kind = scope["type"]
        if kind != "http":
            await (self._lifespan(receive, send) if kind == "lifespan" else _refuse_websocket(receive, send))
            return
        handler, bodies = self._handler, self._bodies
        if handler is None or bodies is None:
            raise RuntimeError("the application was not started: the server must run its lifespan")
        headers = dict(scope["headers"])
        response: Answer | None = handler.route(scope["method"], scope["path"], headers)
        if response is None:
            response = await self._call(handler, bodies, headers, receive)
        status, lines, answer = response
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": answer})

    async def _call(self, handler: Handler, bodies: Bodies, headers: Headers, receive: Receive) -> Answer:
        """Read the body of a call and answer it."""
        body: bytes | None
        reading = bodies.begin()
        try:
            message = await receive()
            body = first = message.get("body", b"")
            # The message after the declared length is empty and costs a thread hop under granian: it is not asked for.
            if message.get("more_body", False) and headers.get(b"content-length") != b"%d" % len(first):
                body = await _read_on(first, headers.get(b"content-length"), receive, handler.largest_body)
        except asyncio.CancelledError:
            if not bodies.was_late(reading):
                raise
            return handler.too_slow()
        finally:
            bodies.end(reading)
        if body is None or len(body) > handler.largest_body:
            return handler.too_large()
        view = handler.view_header()
        reply = handler.answer(body)
        status, answer = reply if isinstance(reply, tuple) else await reply
        # A plain tuple: making a named one takes as long as parsing a call.
        return status, handler.response_headers(status, view, headers), answer

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.startup()
        except (SettingsError, NodeError) as error:
            await send({"type": "lifespan.startup.failed", "message": f"foreseal: {error}"})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.shutdown()
        await send({"type": "lifespan.shutdown.complete"})


async def _read_on(body: bytes, declared: bytes | None, receive: Receive, largest: int) -> bytes | None:
    """The whole body that began with `body`; None as soon as it is larger than `largest`."""
    length = int(declared) if declared is not None else None
    parts, size = [body], len(body)
    while size <= largest:
        message = await receive()
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size == length or not message.get("more_body", False):
            break
    return b"".join(parts) if size <= largest else None


async def _refuse_websocket(receive: Receive, send: Send) -> None:
    await receive()
    reason = "WebSocket is not served here: send JSON-RPC by POST"
    await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})
