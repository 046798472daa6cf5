"""Threads for the requests of one merchant, so that the requests of no other merchant in the process use them up."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar, TypeVarTuple

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

MAX_REQUEST_THREADS = 40
"""Maximum number of requests of a merchant that are executed at the same time; others wait."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class RequestThreads:
    """Executor of blocking functions for the requests of a merchant."""

    def __init__(self, maximum: int = MAX_REQUEST_THREADS) -> None:
        """Set the maximum number of threads."""
        self._maximum = maximum
        # A limiter belongs to an event loop.
        self._limiter: RunVar[CapacityLimiter] = RunVar("request threads")

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Call a function on a thread, in the current context, and return its result."""
        return await to_thread.run_sync(function, *arguments, limiter=self._current())

    async def iterate(self, items: Iterator[T]) -> AsyncIterator[T]:
        """Yield the items of an iterator, each of which a thread fetches."""
        while (fetched := await self.run(_fetch, items)) is not None:
            yield fetched.item

    def _current(self) -> CapacityLimiter:
        limiter = self._limiter.get(None)
        if limiter is None:
            limiter = CapacityLimiter(self._maximum)
            self._limiter.set(limiter)
        return limiter


@dataclass(frozen=True, slots=True)
class _Fetched(Generic[T]):
    item: T


def _fetch(items: Iterator[T]) -> _Fetched[T] | None:
    """Return the next item; None at the end, since no future can raise StopIteration."""
    try:
        return _Fetched(next(items))
    except StopIteration:
        return None
