"""Calls an ASGI application in process: no socket, no server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from foreseal.rpc import Limits
from foreseal.server import App, Settings

from fake_core import FakeNode


class Answer(NamedTuple):
    """A client's response."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    unread: int
    """Chunks of the request that were not read."""

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


async def request(
    app: App,
    verb: str = "POST",
    path: str = "/",
    chunks: Iterable[bytes] = (b"",),
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one HTTP request with its body in the given chunks."""
    pending = list(chunks)
    lines = {"host": "localhost:8545", "content-type": "application/json"} | (headers or {})
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not pending:
            await asyncio.Event().wait()
        body = pending.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(pending)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": verb,
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in lines.items() if value],
    }
    await app(scope, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return Answer(sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"], len(pending))


def exchange(app: App, *requests: dict[str, Any]) -> list[Answer]:
    """Start the application, send the requests one after the other (arguments of `request`), stop it."""

    async def run() -> list[Answer]:
        await app.startup()
        try:
            return [await request(app, **one) for one in requests]
        finally:
            await app.shutdown()

    return asyncio.run(run())


class Closed(Exception):
    """The server closed the WebSocket, with this code and reason."""


class Socket:
    """The client's side of a WebSocket. Once closed, it neither reads nor sends."""

    def __init__(self, app: App, path: str, headers: dict[str, str], *, denial: bool) -> None:
        self.denied: tuple[int, bytes] | None = None
        """Status and body of the response to a denied handshake; 403 without a body for a plain close."""
        self.reading = asyncio.Event()
        """Set while the client reads; while it is not set, the server's `send` blocks like with a full socket."""
        self.reading.set()
        self.accepted = asyncio.Event()
        self.sent = 0
        """Number of messages that the server sent."""
        self._to_server: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_client: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_server.put_nowait({"type": "websocket.connect"})
        lines = {"host": "localhost:8545"} | headers
        scope = {
            "type": "websocket",
            "path": path,
            "headers": [(name.encode(), value.encode()) for name, value in lines.items()],
            "extensions": {"websocket.http.response": {}} if denial else {},
        }
        self._status = 403
        self.served = asyncio.ensure_future(app(scope, self._to_server.get, self._send))
        """The server's task for this connection."""

    async def _send(self, message: Any) -> None:
        match message["type"]:
            case "websocket.accept":
                self.accepted.set()
            case "websocket.http.response.start":
                self._status = message["status"]
            case "websocket.http.response.body":
                self.denied = self._status, message["body"]
            case "websocket.close" if not self.accepted.is_set():
                self.denied = self._status, b""
            case _:
                await self.reading.wait()
                self.sent += message["type"] == "websocket.send"
                self._to_client.put_nowait(message)

    def send(self, message: Any) -> None:
        """Send a value as JSON; bytes are sent unchanged in a binary frame, and text in a text frame."""
        if isinstance(message, bytes):
            self._to_server.put_nowait({"type": "websocket.receive", "bytes": message, "text": None})
        else:
            text = message if isinstance(message, str) else orjson.dumps(message).decode()
            self._to_server.put_nowait({"type": "websocket.receive", "bytes": None, "text": text})

    def call(self, method: str, *params: Any, ident: int = 1) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})

    async def hear(self) -> Any:
        """Return the next message, parsed. Raise `Closed`."""
        message = await self._to_client.get()
        if message["type"] == "websocket.close":
            raise Closed(message["code"], message["reason"])
        return orjson.loads(message["text"])

    async def request(self, method: str, *params: Any) -> Any:
        """Send a request and return its result or error; the next message must be the response."""
        self.call(method, *params)
        answer = await self.hear()
        assert answer["id"] == 1
        return answer["result"] if "result" in answer else answer["error"]

    async def subscribe(self, *params: Any) -> str:
        """Return the ID of a new subscription."""
        ident = await self.request("eth_subscribe", *params)
        assert isinstance(ident, str), ident
        return ident

    def leave(self, code: int = 1000) -> None:
        """Close the connection."""
        self._to_server.put_nowait({"type": "websocket.disconnect", "code": code})


@contextlib.asynccontextmanager
async def connect(
    app: App, path: str = "/", headers: dict[str, str] | None = None, *, denial: bool = True
) -> AsyncIterator[Socket]:
    """Open a WebSocket to a started application; it must end on its own once the client has disconnected.

    With `denial` the server in front can deny a handshake with an HTTP response.
    """
    socket = Socket(app, path, headers or {}, denial=denial)
    opened = asyncio.ensure_future(socket.accepted.wait())
    await asyncio.wait({opened, socket.served}, return_when=asyncio.FIRST_COMPLETED)
    opened.cancel()
    try:
        yield socket
    finally:
        socket.leave()
        await socket.served


async def until(condition: Callable[[], bool]) -> None:
    """Run the application until `condition` holds."""
    while not condition():  # noqa: ASYNC110 - no event reports it
        await asyncio.sleep(0)


async def ending_of(socket: Socket) -> Closed:
    """Read to the end and return the server's close."""
    try:
        while True:
            await socket.hear()
    except Closed as closed:
        return closed


@asynccontextmanager
async def served(*, limits: Limits | None = None, **settings: Any) -> AsyncIterator[tuple[App, FakeNode]]:
    """Start an application on a double of the node; at its end no subscribed channel may remain in the double."""
    node = FakeNode()
    chosen = Settings(datadir=Path("unused"), limits=limits or Limits(), **settings)
    async with started(App(chosen, make_node=lambda _: node)) as app:
        yield app, node
    assert node.channels == {}


@asynccontextmanager
async def started(app: App) -> AsyncIterator[App]:
    """Start an application, and shut it down at the end."""
    await app.startup()
    try:
        yield app
    finally:
        await app.shutdown()


def call(method: str, *params: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)} | more


async def metrics(app: App) -> dict[str, float]:
    """Return the samples of /metrics, by name and labels."""
    page = (await request(app, "GET", "/metrics")).body.decode()
    samples = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}
