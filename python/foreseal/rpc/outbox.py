"""What is to be sent to one client: one bounded queue, in the order in which it was put in."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

END = "}}"
"""What follows each message of an item whose prefix is not empty."""


class Messages:
    """The JSON of each result of one notice, for all who are told."""

    __slots__ = ("pieces", "size", "texts")

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.size = sum(map(len, texts))
        """Characters."""
        self.pieces: dict[int, list[bytes]] = {}
        """What whoever sends them keeps here: what is sent around each prefix, by the length of that."""


@dataclass(slots=True)
class Traffic:
    """What went out to all clients of a process together."""

    notified: int = 0
    """Notifications sent."""
    lagged: int = 0
    """Times that a subscription missed something and was told."""


class Budget:
    """Bytes and frames of one sort that wait to be sent or are being sent, and their bounds."""

    __slots__ = ("_most_bytes", "_most_frames", "_waiting", "bytes", "frames")

    def __init__(self, most_bytes: int, most_frames: int) -> None:
        self.bytes = 0
        self.frames = 0
        self._most_bytes = most_bytes
        self._most_frames = most_frames
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def full(self) -> bool:
        """Whether a bound is reached."""
        return self.bytes >= self._most_bytes or self.frames >= self._most_frames

    def take(self, size: int, frames: int) -> None:
        """Count so many bytes in so many frames, whether they fit or not."""
        self.bytes += size
        self.frames += frames

    def reserve(self, size: int, frames: int) -> bool:
        """Count them if they fit. What is larger than the bounds fits while nothing else waits: else it never would."""
        most_bytes, most_frames = self._most_bytes, self._most_frames
        if self.frames and (self.bytes + size > most_bytes or self.frames + frames > most_frames):
            return False
        self.take(size, frames)
        return True

    def give(self, size: int, frames: int) -> None:
        """They were sent, or never will be."""
        self.bytes -= size
        self.frames -= frames
        if not self.frames and self._waiting:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def when_empty(self) -> "asyncio.Future[None]":
        """Done as soon as nothing of this sort waits any more."""
        future = asyncio.get_running_loop().create_future()
        if self.frames:
            self._waiting.append(future)
        else:
            future.set_result(None)
        return future


Item = tuple[Budget, str, Sequence[str]]
"""Messages that follow each other, what precedes each of them (no text for an answer), and where they are counted."""


class Outbox:
    """The queue of one connection. Used from the event loop's thread only; one writer takes from it.

    Answers and notifications are counted apart: a long answer on its way does not make its reader a slow one.
    """

    def __init__(self, most_bytes: int, most_frames: int, traffic: Traffic) -> None:
        self.traffic = traffic
        self.answers = Budget(most_bytes, most_frames)
        self.notifications = Budget(most_bytes, most_frames)
        self._items: deque[Item] = deque()
        self._taker: asyncio.Future[None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits, nor is being sent."""
        return not (self.answers.frames or self.notifications.frames)

    def answer(self, text: str) -> None:
        """Put an answer in. Whoever asks stops doing so while `answers` is full."""
        self.answers.take(len(text), 1)
        self._put((self.answers, "", (text,)))

    def notify(self, prefix: str, messages: Sequence[str]) -> None:
        """Put notifications in, which were reserved or taken in `notifications` before."""
        self._put((self.notifications, prefix, messages))

    async def take(self) -> Item:
        """The oldest item; waits for one. Its taker gives back to its budget what was sent."""
        while not self._items:
            self._taker = asyncio.get_running_loop().create_future()
            await self._taker
        return self._items.popleft()

    def clear(self) -> None:
        """Let go of what waits: the connection has ended, and it may be long until the collector comes by."""
        self._items.clear()

    def _put(self, item: Item) -> None:
        self._items.append(item)
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)
