"""The native transport on a double of the node, and connections without sockets."""

import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bare_transport import BareTransport
from foreseal.server import App, Settings
from foreseal.server.native import backlog, http, websocket
from foreseal.server.native.http import HttpConnection
from foreseal.server.native.listener import NativeListener
from foreseal.server.sockets.listening import listen
from foreseal.server.sockets.tls import TlsFiles

from asgi_client import until
from fake_core import FakeNode

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def post(method: str, *params: Any, lines: bytes = b"") -> bytes:
    """Return a call; `lines` are additional header lines."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return HEAD + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Wire(BareTransport):
    """A transport whose client reads only on command."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        super().__init__()
        self.address = address
        self.unread = 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.address, 1) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return self.unread


class Served:
    """A listener, and connections to it."""

    def __init__(self, app: App, listener: NativeListener, node: FakeNode) -> None:
        self.app, self.listener, self.node = app, listener, node

    def connect(self, address: str = "192.0.2.1") -> tuple[HttpConnection, Wire]:
        wire = Wire(address)
        http = HttpConnection(self.listener)
        http.connection_made(wire)
        return http, wire

    @property
    def port(self) -> int:
        """Port of the listener, which accepts connections after its `start`."""
        return int(self.listener._listening.getsockname()[1])

    async def websocket(self, address: str = "192.0.2.1", lines: bytes = b"") -> tuple[Any, Wire]:
        http, wire = self.connect(address)
        http.data_received(HANDSHAKE.replace(b"Upgrade: websocket", lines + b"Upgrade: websocket"))
        await until(lambda: b" 101 " in wire.written)
        wire.written = b""
        return wire.protocol, wire


@contextlib.asynccontextmanager
async def serving(
    max_open: int = 1024,
    tls: TlsFiles | None = None,
    iteration: float = math.inf,
    folder: Path = Path("unused"),
    **settings: Any,
) -> AsyncIterator[Served]:
    """Start the native transport on a double of the node.

    `iteration` is the time in seconds of one connection, and of all together, in an iteration of the event loop. By
    default it is infinite, so that a busy machine changes nothing.
    """
    node = FakeNode()
    app = App(Settings(folder, **settings), make_node=lambda _: node)
    with contextlib.ExitStack() as patches:
        for module in (backlog, http, websocket):
            patches.enter_context(patch.object(module, "_MAX_ITERATION", iteration))
        await app.startup()
        listener = NativeListener(app.endpoint, listen("127.0.0.1", 0), tls, max_open)
        try:
            yield Served(app, listener, node)
        finally:
            for connection in tuple(listener._open):
                connection.connection_lost(None)  # type: ignore[attr-defined]
            await listener.stop(0)
            await app.shutdown()


@contextlib.asynccontextmanager
async def bare_connection(
    settings: Settings, make_node: Callable[..., FakeNode] = FakeNode, *, alone: bool = True
) -> AsyncIterator[tuple[NativeListener, HttpConnection, BareTransport]]:
    """Start a listener and yield it with a connection and its transport.

    Without `alone`, short responses are written at the end of an iteration of the event loop.
    """
    app = App(settings, make_node=make_node)
    await app.startup()
    listener = NativeListener(app.endpoint, listen("127.0.0.1", 0))
    listener.write_batch.alone = alone
    http, transport = HttpConnection(listener), BareTransport()
    http.connection_made(transport)
    yield listener, http, transport
    await listener.stop(0)
    await app.shutdown()
