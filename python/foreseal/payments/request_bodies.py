"""Request bodies: a bounded read, and a common bound of memory over all requests in progress.

```text
request -> HeldBody -> chunk by chunk: counted, stored ... end of the request: all its bytes are free again
                         '-> over the common bound: BodiesFull, and its bytes are free at once
```
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request


class BodyTooLarge(Exception):
    """A body is larger than its maximum."""


class BodyTimeout(Exception):
    """A body did not arrive in time."""


class BodiesFull(Exception):
    """The bodies of the requests in progress hold all the memory for them. The request can be repeated."""

    retry_after = 1
    """Seconds after which it can be repeated."""


class HeldBody:
    """Bytes of one request in the memory for bodies."""

    def __init__(self, memory: "BodyMemory") -> None:
        self._memory = memory
        self._size = 0

    def add(self, size: int) -> None:
        """Count bytes before they are stored. Raises `BodiesFull`, and then the request holds nothing."""
        if self._memory.held + size > self._memory.maximum:
            self.remove(self._size)
            raise BodiesFull(f"request bodies in progress hold more than {self._memory.maximum} bytes")
        self._memory.held += size
        self._size += size

    def remove(self, size: int) -> None:
        """Count bytes as free again: at most those that were added."""
        size = min(size, self._size)
        self._memory.held -= size
        self._size -= size

    def clear(self) -> None:
        """Count all bytes as free again."""
        self.remove(self._size)


class BodyMemory:
    """Memory for the bodies of all requests in progress. For the thread of one event loop."""

    def __init__(self, maximum: int) -> None:
        """Set up. `maximum` is the number of bytes of all bodies together."""
        self.maximum = maximum
        self.held = 0
        """Bytes that requests in progress hold."""

    @contextmanager
    def request(self) -> Iterator[HeldBody]:
        """Provide the count of one request, which holds nothing any more at the end of the context."""
        held = HeldBody(self)
        try:
            yield held
        finally:
            held.clear()


async def read_bounded(request: Request, maximum: int, seconds: float, held: HeldBody | None = None) -> bytes:
    """Return the body of a request, of at most `maximum` bytes, which count in `held`.

    Raises `BodyTooLarge`, `BodyTimeout` after `seconds`, and `BodiesFull`.
    """
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > maximum:
        raise BodyTooLarge
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                if len(body) + len(chunk) > maximum:
                    raise BodyTooLarge
                if held is not None:
                    held.add(len(chunk))
                body += chunk
    except TimeoutError:
        raise BodyTimeout from None
    return bytes(body)
