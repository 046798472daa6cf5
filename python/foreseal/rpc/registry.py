"""Methods registered from Python in addition to the node's own."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import error_codes
from foreseal.rpc.core_protocol import CallOutcome

log = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Any])


class Registry:
    """Python functions by method name. A registered name takes precedence over the core's method."""

    def __init__(self) -> None:
        self.methods: dict[str, tuple[Callable[..., Any], inspect.Signature]] = {}
        """Registered functions and their signatures by method name."""
        self.watchers: list[Callable[[str], None]] = []
        """Called with each name that is registered from now on."""

    def method(self, name: str) -> Callable[[Function], Function]:
        """Register the decorated function, plain or `async`, as the method `name`.

        It receives the positional params and returns a value that JSON can represent; it may raise `RpcError`. Plain
        functions run on the event loop, so they must be short. Raises ValueError if the name is already registered.
        """

        def register(function: Function) -> Function:
            if name in self.methods:
                raise ValueError(f"method {name} is already registered")
            self.methods[name] = (function, inspect.signature(function))
            for watcher in self.watchers:
                watcher(name)
            return function

        return register

    def call(self, name: str, params: bytes) -> CallOutcome | asyncio.Future[CallOutcome]:
        """Run a registered method. The outcome is -32602 for wrong params, -32603 for an exception but `RpcError`."""
        function, signature = self.methods[name]
        try:
            arguments = orjson.loads(params)
        except orjson.JSONDecodeError as error:  # valid JSON, such as 1e999
            return RpcError(error_codes.PARAMS, f"params: {error}", None)
        try:
            signature.bind(*arguments)
        except TypeError as error:
            return RpcError(error_codes.PARAMS, str(error), None)
        try:
            result = function(*arguments)
            return (
                asyncio.ensure_future(_awaited(name, result)) if inspect.isawaitable(result) else orjson.dumps(result)
            )
        except Exception as error:  # a user's function may raise anything, and must only end its own call
            return _as_outcome(name, error)


async def _awaited(name: str, result: Awaitable[Any]) -> CallOutcome:
    try:
        return orjson.dumps(await result)
    except Exception as error:  # as in `Registry.call`
        return _as_outcome(name, error)


def _as_outcome(name: str, error: Exception) -> RpcError:
    if isinstance(error, RpcError):
        return error
    log.error("registered method failed", extra={"method": name}, exc_info=error)
    return RpcError(error_codes.INTERNAL, "internal error", None)
