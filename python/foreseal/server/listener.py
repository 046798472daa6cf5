"""granian inside this process, in front of one ASGI application."""

import asyncio
import socket
from typing import Any

from granian import net
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from foreseal.server.listening import BACKLOG, IDLE_TIME, STOP_TIME, url_of
from foreseal.server.logs import GRANIAN
from foreseal.server.shared import SharedSocket
from foreseal.server.tls import Tls

# Messages that a WebSocket may begin to send at once. granian's one thread takes them up in this order and sends them
# under a lock that is first come, first served. One at a time, each would wake that thread anew, which costs as much as
# all the rest.
AHEAD = 64
OPTIONS: dict[str, Any] = {
    "interface": Interfaces.ASGINL,
    "http": HTTPModes.http1,
    "http1_settings": HTTP1Settings(header_read_timeout=int(IDLE_TIME * 1000)),
    "websockets": True,
    "backlog": BACKLOG,
    "log_level": LogLevels.error,
    "log_dictconfig": GRANIAN,
}
"""What every listener tells granian."""


class BoundServer(Server):
    """granian on a socket that listens already, and that other processes may accept from as well."""

    def __init__(self, application: Any, listening: socket.socket, **options: Any) -> None:
        """Takes `listening` over."""
        super().__init__(application, **options)
        listening.setblocking(False)
        # What pickle hands granian's own workers: descriptor, whether it is a Unix socket, backlog.
        holder: Any = vars(net)["SocketHolder"]
        is_unix = listening.family == socket.AF_UNIX
        self._bound = holder(listening.detach(), is_unix, BACKLOG)

    def _init_shared_socket(self) -> None:
        self._shd = self._bound


class Listener:
    """Answers on one socket from `start` to `stop`, on the event loop that runs."""

    def __init__(self, application: Any, listening: socket.socket, tls: Tls | None = None, most: int = BACKLOG) -> None:
        """Takes over `listening`, which other processes may accept from as well.

        With `tls` it speaks HTTPS and WSS alone. `most` connections may be open, whatever they do: others wait.
        """
        self.url = url_of(listening, tls)
        """Where this machine reaches it."""
        self.serving: asyncio.Future[None] | None = None
        """Done when the server ended by itself, with its failure if there was one."""
        options = OPTIONS | {"backpressure": most} | (tls.options() if tls else {})
        if listening.family != socket.AF_UNIX:
            host, port, *_ = listening.getsockname()
            options |= {"address": host, "port": port}
        self._server = BoundServer(application, listening, **options)

    async def start(self) -> bool:
        """Answer; connections have waited in the socket. False if the server ended at once."""
        self.serving = asyncio.ensure_future(self._server.serve())
        await asyncio.sleep(0)
        return not self.serving.done()

    def leave(self, shared: SharedSocket) -> None:
        """Take no more connections from the socket that it shares; those that are there go on."""
        shared.leave()

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
