"""A proxy to a node that changes the responses of chosen methods."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import orjson

from forwarding_proxy import forwarded

Change = Callable[[dict[str, Any], dict[str, Any]], Any]
"""Makes another response from a call and its true response."""


def between(url: str, changes: dict[str, Change]) -> AbstractContextManager[str]:
    """Serve a proxy to the node at `url` that changes the responses of these methods; yield its URL."""

    def change(request: bytes, response: bytes) -> bytes:
        asked, answer = orjson.loads(request), orjson.loads(response)
        if isinstance(asked, list):
            return orjson.dumps([_changed(changes, call, one) for call, one in zip(asked, answer, strict=True)])
        return orjson.dumps(_changed(changes, asked, answer))

    return forwarded(url, change)


def _changed(changes: dict[str, Change], call: dict[str, Any], answer: dict[str, Any]) -> Any:
    change = changes.get(call["method"])
    return change(call, answer) if change else answer


def result(value: Any) -> Change:
    """Always return this result."""
    return lambda call, answer: {"jsonrpc": "2.0", "id": call["id"], "result": value}


def error(code: int, message: str) -> Change:
    """Always return this error."""
    return lambda call, answer: {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}}
