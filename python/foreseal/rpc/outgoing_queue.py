"""The bounded first-in, first-out queue of messages to one client."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

NOTIFICATION_END = "}}"
"""Suffix of each message of an item whose prefix is not empty."""


class NotificationBatch:
    """The JSON of each result of one notice, shared by all its subscribers."""

    __slots__ = ("encoded_chunks", "size", "texts")

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.size = sum(map(len, texts))
        """Total number of characters."""
        self.encoded_chunks: dict[int, list[bytes]] = {}
        """Cache for transports: encoded bytes around each prefix, by length of the prefix."""


@dataclass(slots=True)
class NotificationCounters:
    """Traffic to all clients of a process."""

    notified: int = 0
    """Notifications sent."""
    lagged: int = 0
    """Times that a subscription lost notifications and was notified of it."""


class QueueBudget:
    """Queued or unsent bytes and frames of one kind, and their limits."""

    __slots__ = ("_max_bytes", "_max_frames", "_waiting", "bytes", "frames")

    def __init__(self, max_bytes: int, max_frames: int) -> None:
        self.bytes = 0
        self.frames = 0
        self._max_bytes = max_bytes
        self._max_frames = max_frames
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def max_bytes(self) -> int:
        """Maximum size in bytes, of one message as well."""
        return self._max_bytes

    @property
    def is_full(self) -> bool:
        """True if a limit is reached."""
        return self.bytes >= self._max_bytes or self.frames >= self._max_frames

    def add(self, size: int, frames: int) -> None:
        """Count `size` bytes in `frames` frames, even above the limits."""
        self.bytes += size
        self.frames += frames

    def reserve(self, size: int, frames: int) -> bool:
        """Count them if they fit. Items above the limits fit while the queue is empty: otherwise they never would."""
        max_bytes, max_frames = self._max_bytes, self._max_frames
        if self.frames and (self.bytes + size > max_bytes or self.frames + frames > max_frames):
            return False
        self.add(size, frames)
        return True

    def release(self, size: int, frames: int) -> None:
        """Stop counting bytes and frames that were sent or dropped."""
        self.bytes -= size
        self.frames -= frames
        if not self.frames and self._waiting:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def wait_until_empty(self) -> "asyncio.Future[None]":
        """Return a future that is done once nothing of this kind is queued."""
        future = asyncio.get_running_loop().create_future()
        if self.frames:
            self._waiting.append(future)
        else:
            future.set_result(None)
        return future


QueueItem = tuple[QueueBudget, str, Sequence[str]]
"""Counter of the messages, their prefix (empty for an answer), and the messages themselves."""


class OutgoingQueue:
    """The queue of one connection. Used from the event loop's thread only, by one consumer.

    Answers and notifications have separate limits: a long answer in transit does not count as a slow reader.
    """

    def __init__(self, max_bytes: int, max_frames: int, traffic: NotificationCounters) -> None:
        self.traffic = traffic
        self.answers = QueueBudget(max_bytes, max_frames)
        self.notifications = QueueBudget(max_bytes, max_frames)
        self._items: deque[QueueItem] = deque()
        self._consumer: asyncio.Future[None] | None = None

    @property
    def is_empty(self) -> bool:
        """True if nothing is queued or being sent."""
        return not (self.answers.frames or self.notifications.frames)

    def put_answer(self, text: str) -> None:
        """Queue an answer. The caller must stop while `answers` is full."""
        self.answers.add(len(text), 1)
        self._put((self.answers, "", (text,)))

    def put_notifications(self, prefix: str, messages: Sequence[str]) -> None:
        """Queue notifications that were already counted in `notifications`."""
        self._put((self.notifications, prefix, messages))

    async def get(self) -> QueueItem:
        """Return the oldest item; wait for one. The consumer calls `release` on its budget for sent messages."""
        while not self._items:
            self._consumer = asyncio.get_running_loop().create_future()
            await self._consumer
        return self._items.popleft()

    def clear(self) -> None:
        """Drop queued items: the connection has ended, and garbage collection may be late."""
        self._items.clear()

    def _put(self, item: QueueItem) -> None:
        self._items.append(item)
        if self._consumer is not None and not self._consumer.done():
            self._consumer.set_result(None)
