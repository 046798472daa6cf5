"""Calls an ASGI application in process: no socket, no server."""

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from foreseal.server import App


class Answer(NamedTuple):
    """What a client gets."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    unread: int
    """Chunks of the request that were not asked for."""

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
    """One HTTP request, its body in the given chunks."""
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


def ask(app: App, *requests: dict[str, Any]) -> list[Answer]:
    """Start the application, send the requests one after the other (arguments of `request`), stop it."""

    async def run() -> list[Answer]:
        await app.startup()
        try:
            return [await request(app, **one) for one in requests]
        finally:
            await app.shutdown()

    return asyncio.run(run())
