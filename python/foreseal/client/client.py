"""The blocking client and the asyncio client; `methods` defines their calls."""

from types import TracebackType
from typing import Any, Self, TypeVar

from foreseal.client.cursor import Cursor
from foreseal.client.feed import Feed
from foreseal.client.flashblocks import Event
from foreseal.client.inprocess import AsyncChainTransport, ChainTransport, InProcessChain
from foreseal.client.methods import Methods
from foreseal.client.options import Options
from foreseal.client.sans_io import Flow, run, run_async
from foreseal.client.session import ClientSession, ClientTransport
from foreseal.client.urls import scheme

T = TypeVar("T")

# Host name for applications in this process: a loopback name, which every node accepts.
_IN_PROCESS = "http://localhost/"


class _FeedProgress:
    """Progress of a feed, for both kinds of iterators."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    @property
    def cursor(self) -> Cursor | None:
        """Cursor of the last event, to resume from. None before the first event if no cursor was given."""
        return self._feed.cursor

    @property
    def connections(self) -> int:
        """Number of connections so far."""
        return self._feed.connections

    @property
    def lags(self) -> int:
        """Number of times the node dropped steps because the reader was too slow; the feed fetched them again."""
        return self._feed.lags


class EventIterator(_FeedProgress):
    """The events of a feed for a `for` loop; see `Client.feed`."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = run(self._feed.next())
        if event is None:
            raise StopIteration
        return event

    def connect(self) -> None:
        """Fix the start of the feed and connect now; otherwise the first event waits for both."""
        run(self._feed.connect())

    def close(self) -> None:
        """Close the feed's connection."""
        run(self._feed.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncEventIterator(_FeedProgress):
    """The events of a feed for an `async for` loop; see `AsyncClient.feed`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await run_async(self._feed.next())
        if event is None:
            raise StopAsyncIteration
        return event

    async def connect(self) -> None:
        """Fix the start of the feed and connect now; otherwise the first event waits for both."""
        await run_async(self._feed.connect())

    async def close(self) -> None:
        """Close the feed's connection."""
        await run_async(self._feed.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Client(Methods):
    """A blocking client of one node, usable from any thread.

    `target` is a URL (http, https, ws or wss) or a `foreseal.testing.Chain`. Close it at the end, or use it as a
    context manager.
    """

    def __init__(self, target: Any, options: Options | None = None) -> None:
        """Connect at the first call, not before. Raise ValueError or TypeError for an invalid target."""
        settings = options or Options()
        self.session = ClientSession(_transport(target, settings), settings)

    def _run(self, flow: Flow[T]) -> T:
        return run(flow)

    def feed(self, cursor: Cursor | None = None, *, follow: bool = True) -> EventIterator:
        """Iterate over all steps after `cursor`, by default after the newest one: each once and in order.

        A reorged step is a `StepRemoved`. Raises TypeError if the cursor is not a `Cursor`.

        The feed survives lost connections and restarts of the node. WebSocket pushes steps, HTTP polls. Without
        `follow` it ends at the newest step. Iterating raises `CursorGone`, `FeedBroken` and the errors of calls, and
        may continue after any of them.
        """
        return EventIterator(Feed(self.session, cursor, follow=follow))

    def close(self) -> None:
        """Close all connections, including those of feeds."""
        self.session.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Methods):
    """An asyncio client of one node, usable from one event loop.

    `target` is a URL (http, https, ws or wss), a started ASGI application in this process (`foreseal.server.App`), or a
    `foreseal.testing.Chain`. Close it at the end, or use it as a context manager.
    """

    def __init__(self, target: Any, options: Options | None = None) -> None:
        """Connect at the first call, not before. Raise ValueError or TypeError for an invalid target."""
        settings = options or Options()
        self.session = ClientSession(_async_transport(target, settings), settings)

    async def _run(self, flow: Flow[T]) -> T:
        return await run_async(flow)

    def feed(self, cursor: Cursor | None = None, *, follow: bool = True) -> AsyncEventIterator:
        """Like `Client.feed`. Cancelling a wait for an event loses no event; the wait may be repeated."""
        return AsyncEventIterator(Feed(self.session, cursor, follow=follow))

    async def close(self) -> None:
        """Close all connections, including those of feeds."""
        await self.session.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


# Each transport is imported on use, with the package that it needs.


def _transport(target: Any, options: Options) -> ClientTransport:
    match _kind(target):
        case "http":
            from foreseal.client.http import HttpTransport

            return HttpTransport(target, options)
        case "ws":
            from foreseal.client.websocket import WebSocketTransport

            return WebSocketTransport(target, options)
        case "chain":
            return ChainTransport(target)
    raise TypeError("target: an ASGI application requires AsyncClient")


def _async_transport(target: Any, options: Options) -> ClientTransport:
    match _kind(target):
        case "http":
            from foreseal.client.http import AsyncHttpTransport

            return AsyncHttpTransport(target, options)
        case "ws":
            from foreseal.client.websocket import AsyncWebSocketTransport

            return AsyncWebSocketTransport(target, options)
        case "chain":
            return AsyncChainTransport(target)
    from foreseal.client.http import AsyncHttpTransport

    return AsyncHttpTransport(_IN_PROCESS, options, target)


def _kind(target: Any) -> str:
    if isinstance(target, str):
        return "ws" if scheme(target) in ("ws", "wss") else "http"
    if isinstance(target, InProcessChain):
        return "chain"
    if callable(target):
        return "app"
    raise TypeError(f"target must be a URL, an ASGI application or a chain, got {type(target).__name__}")
