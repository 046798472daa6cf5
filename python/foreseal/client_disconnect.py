"""Work for a client that ends when the client disconnects, in all ASGI applications of the package."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


async def unless_disconnected(work: Coroutine[Any, Any, T], receive: Receive) -> T | None:
    """Wait for the result of `work`; if the client disconnects, cancel it and return None.

    `receive` is that of an ASGI request of which at most the body's rest has not arrived; its messages are dropped.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        leaving.cancel()
        working.cancel()


async def _disconnect(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
