"""Calls and feeds over WebSocket, with the package websockets.

All calls share one connection; the first call opens it, and later calls reopen it after a failure. Every feed has its
own connection, so that a slow reader delays only its own feed.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from foreseal.client.errors import ConnectionLost, TimedOut
from foreseal.client.http_errors import error_from_status
from foreseal.client.optional_packages import import_optional
from foreseal.client.options import Options
from foreseal.client.urls import origin

asyncio_client = import_optional("websockets.asyncio.client")
sync_client = import_optional("websockets.sync.client")
exceptions = import_optional("websockets.exceptions")

# Seconds for the peer's response to a close frame.
_CLOSING = 1.0


def _settings(options: Options, *, pings: bool) -> dict[str, Any]:
    """Return the options of a connection. Feeds need no pings, because they receive heartbeats."""
    settings: dict[str, Any] = {
        "compression": None,
        "max_size": options.max_message_size,
        "close_timeout": _CLOSING,
        "additional_headers": options.headers(),
    }
    return settings if pings else settings | {"ping_interval": None}


@contextlib.contextmanager
def _connecting(url: str, seconds: float) -> Iterator[None]:
    """Translate errors like `_explaining`, and add the URL and the server's response to a rejected handshake."""
    try:
        with _explaining(seconds):
            yield
    except ConnectionLost as error:
        cause = error.__cause__
        if isinstance(cause, exceptions.InvalidStatus):
            raise error_from_status(cause.response.status_code, cause.response.body or b"") from cause
        raise ConnectionLost(f"{origin(url)}: {error}") from cause


@contextlib.contextmanager
def _explaining(seconds: float) -> Iterator[None]:
    """Translate errors of connections to those of this package."""
    try:
        yield
    except TimeoutError as error:
        raise TimedOut(f"no data received within {seconds:g} s") from error
    except (exceptions.WebSocketException, OSError, EOFError) as error:
        raise ConnectionLost(f"{type(error).__name__}: {error}") from error


class WebSocketLink:
    """A blocking connection."""

    def __init__(self, connection: Any, on_closed: "OnConnectionClosed") -> None:
        """`on_closed` is called when it closes."""
        self._connection = connection
        self._on_closed = on_closed

    def send(self, message: bytes) -> None:
        """Send one message as text."""
        with _explaining(0.0):
            self._connection.send(message.decode())

    def receive(self, seconds: float) -> Any:
        """Return the next message."""
        with _explaining(seconds):
            return self._connection.recv(seconds)

    def close(self) -> None:
        """Close it, with a short wait for the peer."""
        self._on_closed(self)
        with _explaining(_CLOSING):
            self._connection.close()

    def abandon(self) -> None:
        """Close it at once."""
        self._on_closed(self)
        self._connection.close_socket()


class AsyncWebSocketLink:
    """A connection under asyncio."""

    def __init__(self, connection: Any, on_closed: "OnConnectionClosed") -> None:
        """`on_closed` is called when it closes."""
        self._connection = connection
        self._on_closed = on_closed

    async def send(self, message: bytes) -> None:
        """Send one message as text."""
        with _explaining(0.0):
            await self._connection.send(message.decode())

    async def receive(self, seconds: float | None) -> Any:
        """Return the next message; None as time limit waits forever."""
        with _explaining(seconds or 0.0):
            async with asyncio.timeout(seconds):
                return await self._connection.recv()

    async def close(self) -> None:
        """Close it, with a short wait for the peer."""
        self._on_closed(self)
        with _explaining(_CLOSING):
            await self._connection.close()

    def abandon(self) -> None:
        """Close it at once."""
        self._on_closed(self)
        self._connection.transport.abort()


OnConnectionClosed = Callable[[Any], None]


class WebSocketTransport:
    """Blocking calls to one URL; concurrent threads are serialized."""

    def __init__(self, url: str, options: Options) -> None:
        self._url = url
        self._options = options
        self._lock = threading.Lock()
        self._calls: WebSocketLink | None = None
        self._open: set[WebSocketLink] = set()

    def exchange(self, body: bytes, seconds: float) -> bytes:
        """Return the response to a request body."""
        with self._lock:
            try:
                if self._calls is None:
                    self._calls = self._connect(seconds, pings=True)
                self._calls.send(body)
                return self._answer(self._calls, _ident(body), seconds)
            except BaseException:
                # A late response to this call would be taken for the response to the next one.
                calls, self._calls = self._calls, None
                if calls is not None:
                    calls.abandon()
                raise

    def _answer(self, calls: WebSocketLink, ident: Any, seconds: float) -> bytes:
        """Return the message that responds to the call, and skip earlier ones."""
        end = time.monotonic() + seconds
        while True:
            answer = _bytes(calls.receive(max(end - time.monotonic(), 0.0)))
            # A response to a call that was rejected before its id was read has no id.
            if _ident(answer) in (ident, None):
                return answer

    def dial(self, seconds: float, *, pings: bool = False) -> WebSocketLink:
        """Open a connection. One for a feed needs no pings, because it receives heartbeats."""
        return self._connect(seconds, pings=pings)

    def _connect(self, seconds: float, *, pings: bool) -> WebSocketLink:
        settings = _settings(self._options, pings=pings)
        with _connecting(self._url, seconds):
            # Newer versions require entering the context; a link closes it.
            connection = sync_client.connect(self._url, open_timeout=seconds, **settings).__enter__()
        link = WebSocketLink(connection, self._open.discard)
        self._open.add(link)
        return link

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close all connections, including those of feeds."""
        self._calls = None
        for link in tuple(self._open):
            with contextlib.suppress(ConnectionLost, TimedOut):
                link.close()


class AsyncWebSocketTransport:
    """Concurrent calls under asyncio to one URL."""

    def __init__(self, url: str, options: Options) -> None:
        self._url = url
        self._options = options
        self._calls: AsyncWebSocketLink | None = None
        self._reader: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[Any, asyncio.Future[bytes]] = {}
        self._open: set[AsyncWebSocketLink] = set()

    async def exchange(self, body: bytes, seconds: float) -> bytes:
        """Return the response to a request body."""
        ident = _ident(body)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = answer
        try:
            with _explaining(seconds):
                async with asyncio.timeout(seconds):
                    await (await self._connection(seconds)).send(body)
                    return await answer
        finally:
            del self._waiting[ident]
            if answer.done() and not answer.cancelled():
                # Retrieve the exception, so that asyncio does not report it as never retrieved.
                answer.exception()

    async def _connection(self, seconds: float) -> AsyncWebSocketLink:
        async with self._connecting:
            if self._calls is None:
                self._calls = await self._connect(seconds, pings=True)
                self._reader = asyncio.create_task(self._read(self._calls))
            return self._calls

    async def _read(self, link: AsyncWebSocketLink) -> None:
        """Deliver every response to its waiting call until the connection closes."""
        try:
            while True:
                answer = _bytes(await link.receive(None))
                waiting = self._find_waiting(_ident(answer))
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except ConnectionLost as error:
            self._break(link, error)

    def _find_waiting(self, ident: Any) -> "asyncio.Future[bytes] | None":
        """Return the future of the call with this id. Without an id it is known only if one call is in flight."""
        if ident is None and len(self._waiting) == 1:
            return next(iter(self._waiting.values()))
        return self._waiting.get(ident)

    def _break(self, link: AsyncWebSocketLink, error: Exception) -> None:
        if self._calls is link:
            self._calls = None
        link.abandon()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionLost(str(error)))

    async def dial(self, seconds: float) -> AsyncWebSocketLink:
        """Open a connection for a feed."""
        return await self._connect(seconds, pings=False)

    async def _connect(self, seconds: float, *, pings: bool) -> AsyncWebSocketLink:
        settings = _settings(self._options, pings=pings)
        with _connecting(self._url, seconds):
            connection = await asyncio_client.connect(self._url, open_timeout=seconds, **settings)
        link = AsyncWebSocketLink(connection, self._open.discard)
        self._open.add(link)
        return link

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close all connections, including those of feeds."""
        self._calls = None
        for link in tuple(self._open):
            with contextlib.suppress(ConnectionLost, TimedOut):
                await link.close()
        if self._reader is not None:
            # The reader task ends with its connection.
            await asyncio.wait((self._reader,))


def _bytes(message: str | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.encode()


def _ident(body: bytes) -> Any:
    """Return the id of a call or response, or of the first one of a batch; None without one."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if isinstance(message, list):
        message = message[0] if message else None
    ident = message.get("id") if isinstance(message, dict) else None
    # Other types are not ids of this client and may be unhashable.
    return ident if isinstance(ident, int) else None
