"""Memory of request bodies: a common bound over all requests in progress.

```text
request -> HeldBody -> chunk by chunk: counted, stored ... end of the request: all its bytes are free again
                         '-> over the common bound: BodiesFull, and its bytes are free at once
```
"""

from collections.abc import Iterator
from contextlib import contextmanager


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
