"""The peer: an ASGI application that reads the body and answers a constant by orjson, behind the same granian."""

import sys
from collections.abc import Awaitable
from typing import Any

import orjson

from foreseal.server.front import serve
from foreseal.server.listening import ASGI

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": "0x10"}
HEADERS = [(b"content-type", b"application/json")]


class Bare:
    """Nothing but the front."""

    open = 1024
    """Connections at once."""

    async def startup(self) -> None:
        """Nothing to start."""

    async def started(self) -> None:
        """Nothing to wait for."""

    def hurry(self) -> None:
        """Nothing to hurry."""

    async def begin_stop(self) -> None:
        """Nothing is under way."""

    async def disconnect(self) -> None:
        """Nobody is told."""

    async def patiently(self, work: Awaitable[object], grace: float = 0.0) -> None:
        """Nothing takes long."""
        await work

    @property
    def stop_time(self) -> float:
        """Seconds from a signal to stop to the end of the process."""
        return 10.0

    def time_left(self) -> float:
        """Seconds that calls under way have."""
        return 1.0

    async def shutdown(self) -> None:
        """Nothing to stop."""

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
