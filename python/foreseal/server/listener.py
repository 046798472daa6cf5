"""The `asgi` transport: granian inside this process, in front of one ASGI application, by its public interface."""

import asyncio
import socket
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from foreseal.server.listening import BACKLOG, IDLE_TIME, STOP_TIME, url_of
from foreseal.server.logs import GRANIAN
from foreseal.server.tls import Tls

# Messages that a WebSocket may begin to send at once. granian's one thread takes them up in this order and sends them
# under a lock that is first come, first served. One at a time, each would wake that thread anew, which costs as much as
# all the rest.
AHEAD = 64
# Attempts to reach a server that starts, and seconds between two of them.
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


class Listener:
    """Answers at one address from `start` to `stop`, on the event loop that runs.

    granian binds a socket of its own and cannot be given one: `reserved` holds the address until then, bound and not
    listening. So it is neither for a Unix socket nor for one that several processes share: the native transport is.
    """

    def __init__(self, application: Any, reserved: socket.socket, tls: Tls | None = None, most: int = BACKLOG) -> None:
        """`reserved` is what `reserve` returns; it stays open as long as the listener.

        With `tls` it speaks HTTPS and WSS alone. At most `most` connections are open: others wait.
        """
        self.url = url_of(reserved, tls)
        """URL at which this machine reaches it."""
        self.serving: asyncio.Future[None] | None = None
        """Done when the server ended by itself, with its failure if there was one."""
        host, port, *_ = reserved.getsockname()
        self._address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104 - compared with
        options = OPTIONS | {"backpressure": most} | (tls.options() if tls else {})
        self._server = Server(application, address=host, port=port, **options)

    async def start(self) -> bool:
        """Answer. False if the server ended at once."""
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
        """Take no more connections and wait for the end, at most so long. Raises what ended the server."""
        if self.serving is None:
            return
        if not self.serving.done():
            self._server.stop()  # type: ignore[no-untyped-call]
        done: set[asyncio.Future[None]] = set()
        try:
            done, _ = await asyncio.wait({self.serving}, timeout=seconds)
        finally:
            if not done:
                # Given up: granian tells its end from a thread, to a future that is gone by then.
                asyncio.get_running_loop().set_exception_handler(_but_late_ends)
        for ended in done:
            ended.result()


def _but_late_ends(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), asyncio.InvalidStateError):
        loop.default_exception_handler(context)
