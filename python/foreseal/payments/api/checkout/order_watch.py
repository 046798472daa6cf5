"""Waits for changes of orders: one query per interval for all shoppers who wait.

Another process of the service may change an order, so the database is polled. Without a wait there is no query.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from foreseal.payments.api.errors import LIBRARY_ERRORS

log = logging.getLogger(__name__)

INTERVAL = 0.2
"""Seconds between two queries."""

ReadVersions = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class _Waiter:
    id: str
    version: str
    future: "asyncio.Future[bool]"


class OrderWatch:
    """Waits of one process. For one event loop at a time."""

    def __init__(self, read: ReadVersions, interval: float = INTERVAL) -> None:
        """Set up. `read` returns the versions of orders by id, and may raise the database's errors."""
        self._read = read
        self._interval = interval
        self._waiters: set[_Waiter] = set()
        self._polling: asyncio.Task[None] | None = None
        self._is_stopping = False

    def stop(self) -> None:
        """End all waits, and let no further one begin: the requests are answered with the order as it is."""
        self._is_stopping = True
        for waiter in self._waiters:
            if not waiter.future.done():
                waiter.future.set_result(False)

    async def wait(self, id: str, version: str, seconds: float) -> bool:
        """Wait until an order has another version, the time is over, or the service stops.

        Return True if the order has another version.
        """
        if self._is_stopping:
            return False
        waiter = _Waiter(id, version, asyncio.get_running_loop().create_future())
        self._waiters.add(waiter)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll())
        try:
            return await asyncio.wait_for(waiter.future, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)

    async def _poll(self) -> None:
        while self._waiters:
            ids = sorted({waiter.id for waiter in self._waiters})
            try:
                versions = await self._read(ids)
            except LIBRARY_ERRORS as error:  # the waits end in time, and the shoppers' next requests report it
                log.warning("cannot watch orders: %s", type(error).__name__)
                versions = {}
            for waiter in self._waiters:
                if versions.get(waiter.id, waiter.version) != waiter.version and not waiter.future.done():
                    waiter.future.set_result(True)
            await asyncio.sleep(self._interval)
