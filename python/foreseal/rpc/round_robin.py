"""Queue that serves callers in turns."""

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class RoundRobin(Generic[T]):
    """Items by caller. Each caller gets one item served, then goes behind all others."""

    def __init__(self) -> None:
        # The first caller is the next one.
        self._queues: dict[object, deque[T]] = {}

    def __bool__(self) -> bool:
        """Return True if an item waits."""
        return bool(self._queues)

    def push(self, caller: object, item: T) -> None:
        """Add an item behind the caller's others."""
        self._queues.setdefault(caller, deque()).append(item)

    def pop(self) -> T | None:
        """Remove and return the next item, None if no item waits."""
        if not self._queues:
            return None
        caller = next(iter(self._queues))
        queue = self._queues.pop(caller)
        item = queue.popleft()
        if queue:
            self._queues[caller] = queue
        return item
