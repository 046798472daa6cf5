"""HTTP requests and WebSocket messages, over the application with a double of the core."""

import asyncio
import logging
from collections.abc import Coroutine
from functools import cache
from pathlib import Path
from typing import Any

from foreseal.server import App, Settings

from asgi_client import Closed, connect, request
from bodies import LIMITS, check_answer, check_entry
from fake_core import FakeNode

_CLOSED = {1000, 1009, 1013}
"""Codes with which a server may end a WebSocket whose client says anything at all."""


class Complaints(logging.Handler):
    """What a server logged as an error, which no input may bring about."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


class Served:
    """An application that runs, and the loop it lives on."""

    def __init__(self) -> None:
        self.node = FakeNode()
        self._runner = asyncio.Runner()
        self.app = App(Settings(Path("unused"), limits=LIMITS), make_node=lambda _: self.node)
        self._complaints = Complaints()
        logging.getLogger("foreseal").addHandler(self._complaints)
        self.run(self.app.startup())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        # A double remembers every call.
        self.node.calls.clear()
        # Not the runner's own `run`, which sets a handler of signals each time.
        answer = self._runner.get_loop().run_until_complete(work)
        assert not self._complaints.heard, self._complaints.heard
        return answer

    def stop(self) -> None:
        self.run(self.app.shutdown())
        self._runner.close()
        logging.getLogger("foreseal").removeHandler(self._complaints)


@cache
def served() -> Served:
    """The one application, until `stop`."""
    return Served()


def stop() -> None:
    """End it."""
    served().stop()
    served.cache_clear()


def run_body(data: bytes) -> None:
    """Any body gets a proper answer."""
    at = served()
    answer = at.run(request(at.app, chunks=[data]))
    check_answer(data, answer.status, answer.body)


def run_head(data: bytes) -> None:
    """A verb, a path, then lines of headers, cut by line feeds: any head gets a response that HTTP allows."""
    verb, path, *lines = [*data.decode("latin-1").split("\n"), "", ""]
    headers = dict(line.partition(":")[::2] for line in lines if line)
    at = served()
    body = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
    answer = at.run(request(at.app, verb, path, chunks=[body[:20], body[20:]], headers=headers))
    assert answer.status in {200, 204, 400, 401, 403, 404, 405, 413, 415, 503}, answer
    if answer.status == 401:
        assert answer.json["error"]["code"] == -32004
    elif answer.headers.get(b"content-type") == b"application/json":
        check_entry(answer.json)


def run_websocket(data: bytes) -> None:
    """Each line is a message, binary after a zero byte: its answers are proper, and a connection that ends says why."""
    at = served()
    at.run(_talk(at.app, data.split(b"\n")))
    assert at.node.channels == {}, "a connection that ended left a subscription"


async def _talk(app: App, messages: list[bytes]) -> None:
    async with connect(app) as socket:
        for message in messages:
            if message.startswith(b"\0"):
                socket.tell(message[1:])
            else:
                socket.tell(message.decode("utf-8", "replace"))
        socket.call("eth_blockNumber", ident=2**60)
        answers = 0
        try:
            while True:
                said = await socket.hear()
                for entry in said if isinstance(said, list) else [said]:
                    if entry.get("method") == "eth_subscription":
                        assert set(entry) == {"jsonrpc", "method", "params"}
                        continue
                    check_entry(entry)
                    answers += 1
                if not isinstance(said, list) and said.get("id") == 2**60:
                    break
        except Closed as closed:
            code, _ = closed.args
            assert code in _CLOSED, closed
        assert answers <= len(messages) * LIMITS.batch + 1
