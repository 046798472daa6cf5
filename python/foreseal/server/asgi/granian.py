"""The `asgi` transport: granian inside this process, serving one ASGI application through granian's public API."""

import asyncio
import socket
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from foreseal.server.logs import GRANIAN
from foreseal.server.sockets.listening import BACKLOG, IDLE_TIME, STOP_TIME, listener_url
from foreseal.server.sockets.tls import TlsFiles

# Messages that a WebSocket may start sending at once. granian's single thread processes them in this order and sends
# them under a first-come, first-served lock. Sent one at a time, each would wake that thread again, which costs as much
# as all other work.
MAX_CONCURRENT_SENDS = 64
# Connection attempts to a starting server, and seconds between two of them.
_ATTEMPTS, _PAUSE = 400, 0.005
OPTIONS: dict[str, Any] = {
    "interface": Interfaces.ASGINL,
    "http": HTTPModes.http1,
    "http1_settings": HTTP1Settings(header_read_timeout=int(IDLE_TIME * 1000)),
    "websockets": True,
    "backlog": BACKLOG,
    "log_level": LogLevels.error,
    "log_dictconfig": GRANIAN,
}
"""Options of every listener."""


class GranianListener:
    """Serves at one address from `start` to `stop`, on the running event loop.

    granian binds its own socket and accepts no existing one. `reserved` therefore holds the address, bound but not
    listening. Unix sockets and sockets shared by several processes need the native transport.
    """

    def __init__(
        self, application: Any, reserved: socket.socket, tls: TlsFiles | None = None, max_connections: int = BACKLOG
    ) -> None:
        """Create the server. `reserved` is the result of `bind`; it stays open as long as the listener.

        With `tls` it serves HTTPS and WSS only. At most `max_connections` connections are open: others wait.
        """
        self.url = listener_url(reserved, tls)
        """URL at which this machine reaches it."""
        self.serving: asyncio.Future[None] | None = None
        """Done when the server ended by itself, with its failure if there was one."""
        host, port, *_ = reserved.getsockname()
        self._address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104 - compared with
        options = OPTIONS | {"backpressure": max_connections} | (tls.options() if tls else {})
        self._server = Server(application, address=host, port=port, **options)

    async def start(self) -> bool:
        """Start to serve. Return False if the server ended at once."""
        self.serving = asyncio.ensure_future(self._server.serve())
        await asyncio.sleep(0)
        # granian does not report that it listens.
        for _ in range(_ATTEMPTS):
            if self.serving.done():
                break
            try:
                _, writer = await asyncio.open_connection(*self._address)
            except OSError:
                await asyncio.sleep(_PAUSE)
                continue
            writer.close()
            return True
        return not self.serving.done()

    async def stop(self, seconds: float = STOP_TIME) -> None:
        """Accept no more connections and wait for the end, at most `seconds`. Raises the error of the server."""
        if self.serving is None:
            return
        if not self.serving.done():
            self._server.stop()  # type: ignore[no-untyped-call]
        done: set[asyncio.Future[None]] = set()
        try:
            done, _ = await asyncio.wait({self.serving}, timeout=seconds)
        finally:
            if not done:
                # On cancellation, granian's thread reports its end later to a future that no longer exists.
                asyncio.get_running_loop().set_exception_handler(_ignore_late_ends)
        for ended in done:
            ended.result()


def _ignore_late_ends(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), asyncio.InvalidStateError):
        loop.default_exception_handler(context)
