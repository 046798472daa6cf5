"""The peer: an ASGI application that reads the body and returns a constant through orjson, behind the same granian."""

import sys
from collections.abc import Awaitable
from typing import Any

import orjson

from foreseal.server.runner import serve
from foreseal.server.sockets.listening import ASGI

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": "0x10"}
HEADERS = [(b"content-type", b"application/json")]


class Bare:
    """An application with no work of its own."""

    max_connections = 1024
    """Maximum concurrent connections."""

    async def startup(self) -> None:
        """Do nothing."""

    async def wait_until_ready(self) -> None:
        """Do nothing."""

    def skip_drain(self) -> None:
        """Do nothing."""

    async def begin_stop(self) -> None:
        """Do nothing: no call is in flight."""

    async def disconnect(self) -> None:
        """Do nothing: there are no subscribers to notify."""

    async def drain(self, work: Awaitable[object], grace: float = 0.0) -> None:
        """Await the work without a time limit."""
        await work

    @property
    def stop_time(self) -> float:
        """Return the seconds from a stop signal to the end of the process."""
        return 10.0

    def time_left(self) -> float:
        """Return the seconds that calls in flight have."""
        return 1.0

    async def shutdown(self) -> None:
        """Do nothing."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        body = message["body"]
        while message["more_body"] and len(body) < int(dict(scope["headers"])[b"content-length"]):
            message = await receive()
            body += message["body"]
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": orjson.dumps(ANSWER)})


if __name__ == "__main__":
    serve(Bare(), "127.0.0.1", int(sys.argv[1]), lambda url: print(url, flush=True), transport=ASGI)
