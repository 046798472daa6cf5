"""Listener of the native transport: accepts connections, and checks all of them periodically."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any

from foreseal._core import ListenerClock, WriteBatch
from foreseal.server.auth.callers import Peer
from foreseal.server.auth.origins import Headers
from foreseal.server.endpoint import Endpoint
from foreseal.server.native.backlog import Backlog
from foreseal.server.native.connection_owner import OwnedConnection
from foreseal.server.native.connection_table import MAX_HANDSHAKES, AddressAccount, ConnectionTable
from foreseal.server.native.http import HttpConnection
from foreseal.server.sockets.listening import BACKLOG, IDLE_TIME, STOP_TIME, listener_url
from foreseal.server.sockets.tls import TlsFiles
from foreseal.server.websocket.socket import WebSocket

log = logging.getLogger(__name__)

# Longest interval in seconds between two checks of all connections.
_CHECK_INTERVAL = 1.0
# Seconds until accepting is retried if the process has no descriptor left, or no connection can be evicted.
_PAUSE = 0.1
_RESOURCE_ERRORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# Protocol work of a new connection, and of one with a TLS handshake.
_WORK, _TLS_WORK = 10, 50


class NativeListener:
    """Serves on one socket from `start` to `stop`, on the running event loop."""

    def __init__(
        self, endpoint: Endpoint, listening: socket.socket, tls: TlsFiles | None = None, max_connections: int = BACKLOG
    ) -> None:
        """Take over `listening`, which other processes may accept from as well.

        With `tls` it serves HTTPS and WSS only. At most `max_connections` connections are open. Idle and slow ones are
        evicted for new ones; without such connections the new ones wait.
        """
        self.url = listener_url(listening, tls)
        """URL at which this machine reaches it."""
        self.serving: asyncio.Future[None] | None = None
        """Done when it ended by itself, with its failure if there was one."""
        self.loop = asyncio.get_running_loop()
        self.handler = endpoint.handler
        self.write_batch = WriteBatch(self.loop)
        self.backlog = Backlog(self.loop.call_soon, self.loop.time)
        self.now = self.loop.time()
        """Time of the last check of all connections, seconds on the loop's clock."""
        self.date = b""
        self.ok = b""
        """Start of most responses, up to their date and content type."""
        self.clock = ListenerClock()
        """Both of these for requests that are answered in the core."""
        self.table = ConnectionTable(self.handler.transport_limits, max_connections, self.handler.refusals)
        self._connections = endpoint.connections
        self._listening = listening
        self._tls = tls.context() if tls else None
        self._max_connections = max_connections
        self._open: set[OwnedConnection] = set()
        self._opening: set[asyncio.Task[Any]] = set()
        self._websockets: set[asyncio.Task[None]] = set()
        self._accepting = False
        self._is_retired = False
        self._stopped = False
        self._empty = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        limits = self.table.limits
        self._interval = min(_CHECK_INTERVAL, limits.body_time / 2, limits.head_time / 2)
        endpoint.drain_watchers.append(self._set_clock)
        self._tick()

    async def start(self) -> bool:
        """Start to serve; connections may already wait in the socket."""
        self.serving = self.loop.create_future()
        self._listening.setblocking(False)
        self._resume_accepting()
        return True

    def stop_accepting(self) -> None:
        """Accept no more connections from the shared socket; open ones continue."""
        self._is_retired = True
        self._pause_accepting()

    async def stop(self, seconds: float = STOP_TIME) -> None:
        """Accept no more connections, and wait until the open ones have ended, at most `seconds`."""
        if self._stopped:
            return
        self._stopped = True
        self._pause_accepting()
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

    def opened(self, connection: OwnedConnection) -> None:
        """Add a connection."""
        self._open.add(connection)
        self.table.add(connection)
        self.write_batch.alone = len(self._open) == 1
        if self._stopped:
            connection.finish()

    def closed(self, connection: OwnedConnection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self.table.remove(connection, self.now)
        self.write_batch.alone = len(self._open) <= 1
        self._connection_ended()

    def serve(self, websocket: WebSocket, path: str, peer: Peer, headers: Headers) -> None:
        """Serve a WebSocket to its end."""
        self._track(self._websockets, self._connections.serve(self.handler, websocket, path, peer, headers))

    def _track(self, tasks: set[asyncio.Task[Any]], work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = self.loop.create_task(work)
        tasks.add(task)

        def done(ended: asyncio.Task[Any]) -> None:
            tasks.discard(ended)
            error = None if ended.cancelled() else ended.exception()
            if error is not None and not isinstance(error, OSError):
                log.error("connection failed", exc_info=error)
            self._connection_ended()

        task.add_done_callback(done)
        return task

    def _connection_ended(self) -> None:
        self._resume_accepting()
        if not self._open and not self._opening:
            self._empty.set()

    def _is_full(self) -> bool:
        return self.table.count + len(self._opening) >= self._max_connections

    def _resume_accepting(self) -> None:
        if not (self._accepting or self._is_retired or self._stopped):
            self._accepting = True
            self.loop.add_reader(self._listening, self._accept)

    def _pause_accepting(self) -> None:
        if self._accepting:
            self._accepting = False
            self.loop.remove_reader(self._listening)

    def _accept_later(self) -> None:
        self._pause_accepting()
        self.loop.call_later(_PAUSE, self._resume_accepting)

    def _accept(self) -> None:
        """Accept one connection: if several processes accept, each gets its share."""
        if self._is_full() and not self.table.make_room():
            self._accept_later()
            return
        try:
            accepted, address = self._listening.accept()
        except BlockingIOError:
            return
        except OSError as error:
            # The waiting client has disconnected, or there is no room for now.
            if error.errno in _RESOURCE_ERRORS:
                log.warning("cannot accept a connection: %s", error.strerror)
                self._accept_later()
            return
        peer = (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
        account = self.table.account(peer, self.now)
        if not self._may_connect(account):
            self.handler.refusals["address_connections"] += 1
            accepted.close()
            self.table.drop_account(account, self.now)
            return
        accepted.setblocking(False)
        account.handshakes += 1
        options = {} if self._tls is None else {"ssl_handshake_timeout": self.table.limits.head_time}
        work = self.loop.connect_accepted_socket(lambda: HttpConnection(self), accepted, ssl=self._tls, **options)
        self._track(self._opening, work).add_done_callback(lambda _: self._opened(account))

    def _may_connect(self, account: AddressAccount) -> bool:
        if not account.is_limited:
            return True
        if self._tls is not None and account.handshakes >= MAX_HANDSHAKES:
            return False
        is_even = not account.work.spend(_WORK if self._tls is None else _TLS_WORK, self.loop.time())
        return is_even and self.table.has_room(account)

    def _opened(self, account: AddressAccount) -> None:
        account.handshakes -= 1
        self.table.drop_account(account, self.now)

    def _tick(self) -> None:
        self.now = self.loop.time()
        self.date = formatdate(usegmt=True).encode()
        self.ok = b"HTTP/1.1 200 OK\r\ndate: %b\r\ncontent-type: application/json\r\n" % self.date
        self._set_clock()
        for connection in tuple(self._open):
            connection.enforce_timeouts(self.now, IDLE_TIME)
        self.table.sweep(self.now)
        self._timer = self.loop.call_later(self._interval, self._tick)

    def _set_clock(self) -> None:
        # While it drains, each response closes its connection.
        self.clock.set(self.now, None if self.handler.is_draining else self.ok)
