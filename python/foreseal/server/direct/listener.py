"""The listener of the direct front: accepts connections, and looks at all of them now and then."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any

from foreseal.server.access import Headers
from foreseal.server.callers import Peer
from foreseal.server.direct.http import Http
from foreseal.server.direct.keeper import Kept
from foreseal.server.direct.transport import Turn
from foreseal.server.endpoint import Endpoint
from foreseal.server.listening import BACKLOG, IDLE_TIME, STOP_TIME, url_of
from foreseal.server.shared import SharedSocket
from foreseal.server.tls import Tls
from foreseal.server.websocket import Socket

log = logging.getLogger(__name__)

# Seconds between two looks at all connections, at most.
_LOOK = 1.0
# Seconds until accepting is tried again where the process has no descriptor left.
_PAUSE = 0.1
_OUT_OF_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class DirectListener:
    """Answers on one socket from `start` to `stop`, on the event loop that runs."""

    def __init__(
        self, endpoint: Endpoint, listening: socket.socket, tls: Tls | None = None, most: int = BACKLOG
    ) -> None:
        """Takes over `listening`, which other processes may accept from as well.

        With `tls` it speaks HTTPS and WSS alone. `most` connections may be open, whatever they do: others wait.
        """
        self.url = url_of(listening, tls)
        """Where this machine reaches it."""
        self.serving: asyncio.Future[None] | None = None
        """Done when it ended by itself, with its failure if there was one."""
        self.loop = asyncio.get_running_loop()
        self.handler = endpoint.handler
        self.turn = Turn(self.loop)
        self.now = self.loop.time()
        """When all connections were looked at last, seconds on the loop's clock."""
        self.date = b""
        self.ok = b""
        """What most responses begin with: up to their date and content type."""
        self._connections = endpoint.connections
        self._wait = endpoint.bodies.most / 1000
        self._listening = listening
        self._tls = tls.context() if tls else None
        self._most = most
        self._open: set[Kept] = set()
        self._opening: set[asyncio.Task[Any]] = set()
        self._websockets: set[asyncio.Task[None]] = set()
        self._accepting = False
        self._leaving = False
        self._stopped = False
        self._empty = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._tick()

    async def start(self) -> bool:
        """Answer; connections have waited in the socket."""
        self.serving = self.loop.create_future()
        self._listening.setblocking(False)
        self._accept_more()
        return True

    def leave(self, _shared: SharedSocket) -> None:
        """Take no more connections from the socket that it shares; those that are there go on."""
        self._leaving = True
        self._accept_no_more()

    async def stop(self, seconds: float = STOP_TIME) -> None:
        """Take no more connections, and wait until those that are there have ended, at most so long."""
        if self._stopped:
            return
        self._stopped = True
        self._accept_no_more()
        self._listening.close()
        for connection in tuple(self._open):
            connection.finish()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._open or self._opening:
                    self._empty.clear()
                    await self._empty.wait()
        for connection in tuple(self._open):
            connection.abort()
        for task in (*self._opening, *self._websockets):
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self.serving is not None and not self.serving.done():
            self.serving.set_result(None)

    def opened(self, connection: Kept) -> None:
        """A connection is there."""
        self._open.add(connection)
        self.turn.alone = len(self._open) == 1
        if self._stopped:
            connection.finish()

    def closed(self, connection: Kept) -> None:
        """A connection is gone."""
        self._open.discard(connection)
        self.turn.alone = len(self._open) <= 1
        self._made_room()

    def serve(self, websocket: Socket, path: str, peer: Peer, headers: Headers) -> None:
        """Serve a WebSocket to its end."""
        self._keep(self._websockets, self._connections.serve(self.handler, websocket, path, peer, headers))

    def _keep(self, tasks: set[asyncio.Task[Any]], work: Coroutine[Any, Any, Any]) -> None:
        task = self.loop.create_task(work)
        tasks.add(task)

        def done(ended: asyncio.Task[Any]) -> None:
            tasks.discard(ended)
            error = None if ended.cancelled() else ended.exception()
            if error is not None and not isinstance(error, OSError):
                log.error("a connection failed", exc_info=error)
            self._made_room()

        task.add_done_callback(done)

    def _made_room(self) -> None:
        self._accept_more()
        if not self._open and not self._opening:
            self._empty.set()

    def _accept_more(self) -> None:
        wanted = not (self._accepting or self._leaving or self._stopped)
        if wanted and len(self._open) + len(self._opening) < self._most:
            self._accepting = True
            self.loop.add_reader(self._listening, self._accept)

    def _accept_no_more(self) -> None:
        if self._accepting:
            self._accepting = False
            self.loop.remove_reader(self._listening)

    def _accept(self) -> None:
        """Take one connection: where several processes accept, each gets its share."""
        try:
            accepted, _ = self._listening.accept()
        except BlockingIOError:
            return
        except OSError as error:
            # The one that waited has left again, or there is no room for now.
            if error.errno in _OUT_OF_ROOM:
                log.warning("a connection waits to be accepted: %s", error.strerror)
                self._accept_no_more()
                self.loop.call_later(_PAUSE, self._accept_more)
            return
        accepted.setblocking(False)
        work = self.loop.connect_accepted_socket(lambda: Http(self), accepted, ssl=self._tls)
        self._keep(self._opening, work)
        if len(self._open) + len(self._opening) >= self._most:
            self._accept_no_more()

    def _tick(self) -> None:
        self.now = self.loop.time()
        self.date = formatdate(usegmt=True).encode()
        self.ok = b"HTTP/1.1 200 OK\r\ndate: %b\r\ncontent-type: application/json\r\n" % self.date
        for connection in tuple(self._open):
            connection.look(self.now, IDLE_TIME, self._wait)
        self._timer = self.loop.call_later(min(_LOOK, self._wait / 2), self._tick)
