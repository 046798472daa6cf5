"""HTTP requests and WebSocket messages, over the application with a double of the core."""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import orjson

from foreseal.rpc.rate import UNLIMITED
from foreseal.server import App, Settings
from foreseal.server.settings.access import AccessSettings

from asgi_client import request
from bodies import LIMITS, check_answer, check_entry
from fake_core import FakeNode

_CLOSED = {1000, 1009, 1013}
"""Codes with which a server may close a WebSocket after arbitrary input."""


class Complaints(logging.Handler):
    """Error logs of a server, which no input may cause."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


class Served:
    """A running application and its event loop."""

    def __init__(self) -> None:
        self.node = FakeNode()
        self._runner = asyncio.Runner()
        access = AccessSettings(wrong_key_rate=UNLIMITED)
        self.app = App(Settings(Path("unused"), limits=LIMITS, access=access), make_node=lambda _: self.node)
        self._complaints = Complaints()
        logging.getLogger("foreseal").addHandler(self._complaints)
        self.run(self.app.startup())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        # A double records every call.
        self.node.calls.clear()
        # The runner's own `run` would install a signal handler each time.
        answer = self._runner.get_loop().run_until_complete(work)
        assert not self._complaints.heard, self._complaints.heard
        return answer

    def stop(self) -> None:
        self.run(self.app.shutdown())
        self._runner.close()
        logging.getLogger("foreseal").removeHandler(self._complaints)


@cache
def served() -> Served:
    """Return the one application, running until `stop`."""
    return Served()


def stop() -> None:
    """Stop it."""
    served().stop()
    served.cache_clear()


def run_body(data: bytes) -> None:
    """Check that any body gets a valid response."""
    at = served()
    answer = at.run(request(at.app, chunks=[data]))
    check_answer(data, answer.status, answer.body)


def run_head(data: bytes) -> None:
    """Check that any verb, path and header lines, separated by line feeds, get a valid HTTP response."""
    verb, path, *lines = [*data.decode("latin-1").split("\n"), "", ""]
    headers = dict(line.partition(":")[::2] for line in lines if line)
    at = served()
    body = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
    answer = at.run(request(at.app, verb, path, chunks=[body[:20], body[20:]], headers=headers))
    assert answer.status in {200, 204, 400, 401, 403, 404, 405, 413, 415, 429, 503}, answer
    if answer.status == 401:
        assert answer.json["error"]["code"] == -32004
    elif answer.headers.get(b"content-type") == b"application/json":
        check_entry(answer.json)


def run_websocket(data: bytes) -> None:
    """Send each line as a message, binary after a zero byte.

    Checks that responses are valid, and that a closed connection has a reason.
    """
    at, messages = served(), data.split(b"\n")
    client = Client(messages)
    at.run(at.app(client.scope, client.receive, client.send))
    assert at.node.channels == {}, "a connection that ended left a subscription"
    assert client.closed is None or client.closed in _CLOSED, client.closed
    answers = 0
    for said in map(orjson.loads, client.said):
        for entry in said if isinstance(said, list) else [said]:
            if entry.get("method") == "eth_subscription":
                assert set(entry) == {"jsonrpc", "method", "params"}
            else:
                check_entry(entry)
                answers += 1
    assert answers <= len(messages) * LIMITS.batch + 1


class Client:
    """The client's side of a WebSocket: sends everything at once, and leaves after the last response."""

    scope: ClassVar = {"type": "websocket", "path": "/", "headers": [(b"host", b"localhost:8545")], "extensions": {}}
    _LAST = 2**60

    def __init__(self, messages: list[bytes]) -> None:
        self.said: list[str] = []
        """Messages of the server."""
        self.closed: int | None = None
        """The code with which the server closed the connection, if it did."""
        last = {"text": f'{{"jsonrpc":"2.0","id":{self._LAST},"method":"eth_blockNumber","params":[]}}', "bytes": None}
        self._unsaid: deque[dict[str, Any]] = deque([{"type": "websocket.connect"}])
        self._unsaid.extend({"type": "websocket.receive", **frame} for frame in (*map(_frame, messages), last))
        self._done = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        if not self._unsaid:
            await self._done.wait()
            return {"type": "websocket.disconnect", "code": 1000}
        return self._unsaid.popleft()

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.closed = message["code"]
        elif message["type"] == "websocket.send":
            self.said.append(message["text"])
        if self.closed is not None or (self.said and f'"id":{self._LAST}' in self.said[-1]):
            self._done.set()


def _frame(message: bytes) -> dict[str, Any]:
    if message.startswith(b"\0"):
        return {"bytes": message[1:], "text": None}
    return {"bytes": None, "text": message.decode("utf-8", "replace")}
