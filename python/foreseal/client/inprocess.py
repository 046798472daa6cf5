"""Calls to a `foreseal.testing.Chain`, without a socket."""

import asyncio
import time
from typing import Any, Protocol, runtime_checkable

import orjson

from foreseal.errors import RpcError


@runtime_checkable
class InProcessChain(Protocol):
    """A chain in this process."""

    def call(self, method: str, params: bytes) -> bytes:
        """Execute a call; parameters and result are JSON bytes. Raises `RpcError`."""


class ChainTransport:
    """Blocking calls. The chain advances only on command, so waiting brings no news."""

    dial = None
    """None: a feed reads pages."""

    def __init__(self, chain: InProcessChain) -> None:
        self._chain = chain

    def exchange(self, body: bytes, seconds: float) -> bytes:
        """Return the response to a request body; it is immediate."""
        requests = orjson.loads(body)
        if isinstance(requests, list):
            return orjson.dumps([self._answer(request) for request in requests])
        return orjson.dumps(self._answer(requests))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = self._chain.call(request["method"], orjson.dumps(request["params"]))
        except RpcError as error:
            failure = {"code": error.code, "message": error.message}
            if error.data is not None:
                failure["data"] = orjson.Fragment(error.data)
            return answer | {"error": failure}
        return answer | {"result": orjson.Fragment(result)}

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Do nothing: the owner of the chain closes it."""


class AsyncChainTransport:
    """Asyncio counterpart of `ChainTransport`."""

    dial = None
    """A feed reads pages."""

    def __init__(self, chain: InProcessChain) -> None:
        self._blocking = ChainTransport(chain)

    async def exchange(self, body: bytes, seconds: float) -> bytes:
        """Return the response to a request body; it is immediate."""
        return self._blocking.exchange(body, seconds)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Do nothing: the owner of the chain closes it."""
