"""Notifications of a large change: rendered chunk by chunk, as the clients accept them.

    core: DeferredSource <-- render, on a thread --- DeferredNotifications <-- chunk --- one task per subscription
                                                        |  shared by readers at the same chunk
    DeferredWindow: newest changes with readers, bounded in bytes; readers of older ones are too slow

The block of a change stays in memory as long as a client is still to receive it, so the window bounds them together.
"""

import asyncio
import weakref
from collections import deque

from foreseal.rpc.core_protocol import DeferredSource
from foreseal.rpc.outgoing_queue import NotificationBatch

DEFAULT_WINDOW = 192 << 20
"""Bytes of JSON of the changes that clients are still to receive. A block in memory is smaller than its JSON."""

# Rendered chunks of one change that are cached even if no client has them queued.
_CACHED = 2


class DeferredChunk(NotificationBatch):
    """Rendered part of the notifications of one change."""

    __slots__ = ("__weakref__", "is_last")

    def __init__(self, texts: list[str], *, is_last: bool) -> None:
        super().__init__(texts)
        self.is_last = is_last
        """True if no chunk follows."""


class DeferredNotifications:
    """The notifications that one change causes in one channel. Used from the event loop's thread only."""

    def __init__(self, source: DeferredSource) -> None:
        self.size = source.size
        """Upper bound of the size of the change as JSON, in bytes."""
        self.is_expired = False
        """True if the window has dropped it: clients that did not receive all of it were too slow."""
        self._source: DeferredSource | None = source
        self._chunks: weakref.WeakValueDictionary[int, DeferredChunk] = weakref.WeakValueDictionary()
        self._newest: deque[DeferredChunk] = deque(maxlen=_CACHED)
        self._rendering: dict[int, asyncio.Future[DeferredChunk]] = {}

    async def chunk(self, number: int) -> DeferredChunk | None:
        """Return chunk `number`; None if it is expired. A client requests chunks in order."""
        chunk = self._chunks.get(number)
        if chunk is not None:
            return chunk
        source = self._source
        if source is None:
            return None
        rendering = self._rendering.get(number)
        if rendering is None:
            rendering = self._rendering[number] = asyncio.ensure_future(self._render(source, number))
        # Other clients may wait for the same chunk.
        return await asyncio.shield(rendering)

    def expire(self) -> None:
        """Release the block of the change."""
        self.is_expired = True
        self._source = None
        self._newest.clear()

    async def _render(self, source: DeferredSource, number: int) -> DeferredChunk:
        try:
            rendered = await asyncio.to_thread(source.render, number)
            assert rendered is not None, "the chunk before it was rendered"
            texts, is_last = rendered
            chunk = DeferredChunk(texts, is_last=is_last)
            if not self.is_expired:
                self._chunks[number] = chunk
                self._newest.append(chunk)
            return chunk
        finally:
            del self._rendering[number]


class DeferredWindow:
    """Large changes that clients are still to receive, bounded in bytes."""

    def __init__(self, max_bytes: int = DEFAULT_WINDOW) -> None:
        self.max_bytes = max_bytes
        """Maximum size of the changes as JSON; the newest change is never expired."""
        self._changes: deque[weakref.ref[DeferredNotifications]] = deque()

    def add(self, source: DeferredSource) -> DeferredNotifications:
        """Add a change; expire the oldest ones above the bound."""
        added = DeferredNotifications(source)
        self._changes.append(weakref.ref(added))
        held = [change for change in (reference() for reference in self._changes) if change is not None]
        total = sum(change.size for change in held)
        for change in held[:-1]:
            if total <= self.max_bytes:
                break
            total -= change.size
            change.expire()
        self._changes = deque(weakref.ref(change) for change in held if not change.is_expired)
        return added
