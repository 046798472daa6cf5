"""Calls and feeds over WebSocket, by websockets.

Calls share one connection, opened by the first of them and again after it broke. Every feed has a connection of its
own, so that a reader who takes their time holds up nothing but their feed.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from foreseal.client.errors import ConnectionLost, TimedOut
from foreseal.client.needed import needed
from foreseal.client.options import Options
from foreseal.client.refusal import refusal
from foreseal.client.target import origin

asyncio_client = needed("websockets.asyncio.client")
sync_client = needed("websockets.sync.client")
exceptions = needed("websockets.exceptions")

# Seconds that the other side gets to answer a close.
_CLOSING = 1.0


def _settings(options: Options, *, pings: bool) -> dict[str, Any]:
    """A feed hears heartbeats, so that pings would say nothing new."""
    settings: dict[str, Any] = {
        "compression": None,
        "max_size": options.largest_message,
        "close_timeout": _CLOSING,
        "additional_headers": options.headers(),
    }
    return settings if pings else settings | {"ping_interval": None}


@contextlib.contextmanager
def _connecting(url: str, seconds: float) -> Iterator[None]:
    """As `_explaining`, with where the connection was to lead, and what the server said if it refused one."""
    try:
        with _explaining(seconds):
            yield
    except ConnectionLost as error:
        cause = error.__cause__
        if isinstance(cause, exceptions.InvalidStatus):
            raise refusal(cause.response.status_code, cause.response.body or b"") from cause
        raise ConnectionLost(f"{origin(url)}: {error}") from cause


@contextlib.contextmanager
def _explaining(seconds: float) -> Iterator[None]:
    """Errors of connections as those of this package."""
    try:
        yield
    except TimeoutError as error:
        raise TimedOut(f"nothing came within {seconds:g} s") from error
    except (exceptions.WebSocketException, OSError, EOFError) as error:
        raise ConnectionLost(f"{type(error).__name__}: {error}") from error


class WebSocketLink:
    """A blocking connection."""

    def __init__(self, connection: Any, gone: "Gone") -> None:
        """`gone` is told when it is closed."""
        self._connection = connection
        self._gone = gone

    def send(self, message: bytes) -> None:
        """Send one message as text."""
        with _explaining(0.0):
            self._connection.send(message.decode())

    def receive(self, seconds: float) -> Any:
        """The next message."""
        with _explaining(seconds):
            return self._connection.recv(seconds)

    def close(self) -> None:
        """Close it and wait for the other side, shortly."""
        self._gone(self)
        with _explaining(_CLOSING):
            self._connection.close()

    def abandon(self) -> None:
        """Close it at once."""
        self._gone(self)
        self._connection.close_socket()


class AsyncWebSocketLink:
    """A connection under asyncio."""

    def __init__(self, connection: Any, gone: "Gone") -> None:
        """`gone` is told when it is closed."""
        self._connection = connection
        self._gone = gone

    async def send(self, message: bytes) -> None:
        """Send one message as text."""
        with _explaining(0.0):
            await self._connection.send(message.decode())

    async def receive(self, seconds: float | None) -> Any:
        """The next message; with no time-out it waits for ever."""
        with _explaining(seconds or 0.0):
            async with asyncio.timeout(seconds):
                return await self._connection.recv()

    async def close(self) -> None:
        """Close it and wait for the other side, shortly."""
        self._gone(self)
        with _explaining(_CLOSING):
            await self._connection.close()

    def abandon(self) -> None:
        """Close it at once."""
        self._gone(self)
        self._connection.transport.abort()


Gone = Callable[[Any], None]


class WebSocketTransport:
    """Blocking calls to one URL; from several threads they wait for each other."""

    def __init__(self, url: str, options: Options) -> None:
        self._url = url
        self._options = options
        self._lock = threading.Lock()
        self._calls: WebSocketLink | None = None
        self._open: set[WebSocketLink] = set()

    def exchange(self, body: bytes, seconds: float) -> bytes:
        """The answer to a request body."""
        with self._lock:
            try:
                if self._calls is None:
                    self._calls = self._connect(seconds, pings=True)
                self._calls.send(body)
                return self._answer(self._calls, _ident(body), seconds)
            except BaseException:
                # What was asked may still be answered, and would be taken for the answer to the next call.
                calls, self._calls = self._calls, None
                if calls is not None:
                    calls.abandon()
                raise

    def _answer(self, calls: WebSocketLink, ident: Any, seconds: float) -> bytes:
        """The message that answers the call, whatever comes before it."""
        end = time.monotonic() + seconds
        while True:
            answer = _bytes(calls.receive(max(end - time.monotonic(), 0.0)))
            # What a node refused before it read the id comes with none.
            if _ident(answer) in (ident, None):
                return answer

    def dial(self, seconds: float) -> WebSocketLink:
        """A connection for a feed."""
        return self._connect(seconds, pings=False)

    def _connect(self, seconds: float, *, pings: bool) -> WebSocketLink:
        settings = _settings(self._options, pings=pings)
        with _connecting(self._url, seconds):
            # Entered, since newer versions ask for it; a link closes it.
            connection = sync_client.connect(self._url, open_timeout=seconds, **settings).__enter__()
        link = WebSocketLink(connection, self._open.discard)
        self._open.add(link)
        return link

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close all connections, those of feeds as well."""
        self._calls = None
        for link in tuple(self._open):
            with contextlib.suppress(ConnectionLost, TimedOut):
                link.close()


class AsyncWebSocketTransport:
    """Calls under asyncio to one URL, as many at once as there are."""

    def __init__(self, url: str, options: Options) -> None:
        self._url = url
        self._options = options
        self._calls: AsyncWebSocketLink | None = None
        self._reader: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[Any, asyncio.Future[bytes]] = {}
        self._open: set[AsyncWebSocketLink] = set()

    async def exchange(self, body: bytes, seconds: float) -> bytes:
        """The answer to a request body."""
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
                # Looked at, so that nobody complains that it never was.
                answer.exception()

    async def _connection(self, seconds: float) -> AsyncWebSocketLink:
        async with self._connecting:
            if self._calls is None:
                self._calls = await self._connect(seconds, pings=True)
                self._reader = asyncio.create_task(self._read(self._calls))
            return self._calls

    async def _read(self, link: AsyncWebSocketLink) -> None:
        """Hand every answer to whoever waits for it, as long as the connection stands."""
        try:
            while True:
                answer = _bytes(await link.receive(None))
                waiting = self._whose(_ident(answer))
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except ConnectionLost as error:
            self._break(link, error)

    def _whose(self, ident: Any) -> "asyncio.Future[bytes] | None":
        """Who waits for the answer with this id. One without can be told only where one call is under way."""
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
        """A connection for a feed."""
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
        """Close all connections, those of feeds as well."""
        self._calls = None
        for link in tuple(self._open):
            with contextlib.suppress(ConnectionLost, TimedOut):
                await link.close()
        if self._reader is not None:
            # It ends with its connection.
            await asyncio.wait((self._reader,))


def _bytes(message: str | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.encode()


def _ident(body: bytes) -> Any:
    """By what call and answer are known: their id, or that of the first of a batch; None where there is none."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if isinstance(message, list):
        message = message[0] if message else None
    ident = message.get("id") if isinstance(message, dict) else None
    # Another kind is no id of ours, and may be none that can be looked up.
    return ident if isinstance(ident, int) else None
