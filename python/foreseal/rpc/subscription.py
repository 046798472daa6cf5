"""Lifecycle of one subscription: from a notice of the core to the queue of its connection.

    PENDING --answered--> LIVE <--joined-- CATCHING_UP
       |                   | ^                 ^
       |              full | | empty           |
       |                   v |                 |
       +---------------> LAGGING               |
       +--answered, behind its cursor ---------+

Any state ends in CLOSED. Notifications are held back until the answer with the id is queued. Only the feed catches up
and lags. Every other kind has no message for a gap, so its connection is closed if its client reads too slowly.

The notifications of a large change are rendered as the client accepts them. Meanwhile later ones wait in a backlog.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from enum import Enum, auto
from typing import Any, Protocol

from foreseal.rpc.core_protocol import StepPosition
from foreseal.rpc.deferred_notifications import DeferredNotifications
from foreseal.rpc.outgoing_queue import NotificationBatch, OutgoingQueue

FEED = "foreseal_feed"
"""The kind that catches up from a cursor, and lags instead of losing its connection."""

SLOW = "the client reads too slowly: its notification queue is full"
LOST = "notifications were lost: subscribe again"

Messages = NotificationBatch | DeferredNotifications
"""Messages of one notice."""

_HEAD = '{"jsonrpc":"2.0","method":"%s","params":{"subscription":"%s","result":'


class SubscriptionState(Enum):
    """State of a subscription."""

    PENDING = auto()
    CATCHING_UP = auto()
    LIVE = auto()
    LAGGING = auto()
    CLOSED = auto()


class Subscriber(Protocol):
    """Interface of the connection for a subscription."""

    outbox: OutgoingQueue
    """Queue of messages to the client."""

    def notify_now(self, prefix: bytes, messages: NotificationBatch) -> bool:
        """Send notifications directly if the queue is empty and the client accepts them; True if they were sent."""

    def abort(self, reason: str) -> None:
        """Close the connection: the client is too slow, or cannot be notified of lost messages."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run `work` until the connection ends; the connection ends if it fails."""


class Subscription:
    """One subscription of one connection. Used from the event loop's thread only."""

    def __init__(self, ident: str, kind: str, subscriber: Subscriber) -> None:
        self.ident = ident
        self.kind = kind
        self.state = SubscriptionState.PENDING
        self.channel: int | None = None
        """The joined channel."""
        self.position: StepPosition | None = None
        """Newest queued step of a feed subscription, initially that of its cursor."""
        self._start = 0
        self._outbox = subscriber.outbox
        self._notify_now = subscriber.notify_now
        self._abort_connection = subscriber.abort
        self._spawn = subscriber.spawn
        self._prefix = _HEAD % ("eth_subscription", ident)
        self._encoded = self._prefix.encode()
        # Notifications counted in the queue's limits, to be queued after the answer.
        self._held: list[NotificationBatch] = []
        # Notices from the first large one on, each with the position after it, and the bytes of the small ones.
        self._backlog: deque[tuple[Messages, StepPosition]] = deque()
        self._backlog_bytes = 0
        self._is_draining = False
        self._missed_to: StepPosition | None = None

    def channel_joined(self, channel: int, start: int) -> None:
        """Record the joined channel; notices from sequence `start` on belong to this subscription."""
        self.channel, self._start = channel, start
        if self.state is SubscriptionState.CATCHING_UP:
            self.state = SubscriptionState.LIVE

    def start(self) -> None:
        """Queue the held notifications: the answer with its id is queued."""
        if self.state is SubscriptionState.PENDING:
            self.state = SubscriptionState.LIVE if self.channel is not None else SubscriptionState.CATCHING_UP
            if self._backlog:
                self._start_draining()
            elif self._missed_to is not None:
                self._lag()
        for messages in self._held:
            self._outbox.put_notifications(self._prefix, messages.texts)
        self._held.clear()

    def deliver(self, sequence: int, messages: Messages | None, position: StepPosition) -> None:
        """Process a notice of its channel: its messages, None for a loss."""
        if sequence < self._start or self.state is SubscriptionState.CLOSED:
            return
        # The common case: a live subscription that missed nothing.
        if (
            self.state is SubscriptionState.LIVE
            and not self._backlog
            and isinstance(messages, NotificationBatch)
            and self._notify_now(self._encoded, messages)
        ):
            self.position = position
        elif messages is None:
            self._abort_connection(LOST)
        elif self._missed_to is not None:
            self._missed_to = position
        elif self._accept(messages, position):
            pass
        elif self.kind != FEED:
            self._abort_connection(SLOW)
        elif position != self._newest():
            # A notice at the same position is a heartbeat: nothing was missed.
            self._missed_to = position
            if self.state is SubscriptionState.LIVE and not self._backlog:
                self._lag()

    def offer(self, messages: NotificationBatch) -> bool:
        """Queue messages if there is room for them."""
        if not self._outbox.notifications.reserve(messages.size, len(messages.texts)):
            return False
        if self.state is SubscriptionState.PENDING:
            self._held.append(messages)
        else:
            self._outbox.put_notifications(self._prefix, messages.texts)
        return True

    async def wait_for_room(self) -> None:
        """Wait until the queue of notifications is empty."""
        await self._outbox.notifications.wait_until_empty()

    def close(self) -> None:
        """End it and drop its held notifications."""
        self.state = SubscriptionState.CLOSED
        for messages in self._held:
            self._outbox.notifications.release(messages.size, len(messages.texts))
        self._held.clear()
        self._backlog.clear()

    def _newest(self) -> StepPosition | None:
        """Return the position after the newest accepted notice."""
        return self._backlog[-1][1] if self._backlog else self.position

    def _accept(self, messages: Messages, position: StepPosition) -> bool:
        """Queue a notice, or add it to the backlog; return False if the client is too slow for it."""
        is_small = isinstance(messages, NotificationBatch)
        if isinstance(messages, NotificationBatch) and not self._backlog:
            if self._is_rejected(messages):
                return True
            if not self.offer(messages):
                return False
            self.position = position
            return True
        if self._backlog:
            if self.kind == FEED and is_small and position == self._newest():
                # A heartbeat: the client receives parts of a step in its place.
                return True
            oldest = self._backlog[0][0]
            if isinstance(oldest, DeferredNotifications) and oldest.is_expired:
                return False
        if is_small:
            if self._backlog_bytes + messages.size > self._outbox.notifications.max_bytes:
                return False
            self._backlog_bytes += messages.size
        self._backlog.append((messages, position))
        if self.state is not SubscriptionState.PENDING:
            self._start_draining()
        return True

    def _is_rejected(self, messages: NotificationBatch) -> bool:
        """Close the connection if one message exceeds its limit; the feed sends parts instead."""
        limit = self._outbox.notifications.max_bytes
        if messages.size <= limit or self.kind == FEED:
            return False
        longest = max(map(len, messages.texts))
        if longest <= limit:
            return False
        self._abort_connection(f"a message of {longest} bytes exceeds the limit of {limit} bytes")
        return True

    def _start_draining(self) -> None:
        if not self._is_draining:
            self._is_draining = True
            self._spawn(self._drain())

    async def _drain(self) -> None:
        """Queue the backlog as the client accepts it."""
        while self._backlog:
            messages, position = self._backlog[0]
            if isinstance(messages, NotificationBatch):
                self._backlog_bytes -= messages.size
                is_queued = await self._queue(messages)
            else:
                is_queued = await self._queue_chunks(messages)
            if self.state is SubscriptionState.CLOSED:
                return
            if not is_queued:
                self._give_up()
                break
            self._backlog.popleft()
            self.position = position
        self._is_draining = False
        if self._missed_to is not None:
            self._lag()

    async def _queue_chunks(self, messages: DeferredNotifications) -> bool:
        """Queue the notifications of a large change, rendered as there is room; return False if they expired."""
        number, is_last = 0, False
        while not is_last:
            chunk = await messages.chunk(number)
            if chunk is None or not await self._queue(chunk):
                return False
            number, is_last = number + 1, chunk.is_last
            # The client may accept every chunk at once; other connections have their turn.
            await asyncio.sleep(0)
        return True

    async def _queue(self, messages: NotificationBatch) -> bool:
        """Queue messages as soon as there is room; return False if the subscription ends instead."""
        while self.state is not SubscriptionState.CLOSED and not self._is_rejected(messages):
            if self._notify_now(self._encoded, messages) or self.offer(messages):
                return True
            await self.wait_for_room()
        return False

    def _give_up(self) -> None:
        """End the backlog: the client was too slow for it."""
        self._missed_to = self._missed_to or self._newest()
        self._backlog.clear()
        self._backlog_bytes = 0
        if self.kind != FEED:
            self._missed_to = None
            self._abort_connection(SLOW)

    def _lag(self) -> None:
        self.state = SubscriptionState.LAGGING
        self._outbox.traffic.lagged += 1
        self._outbox.notifications.wait_until_empty().add_done_callback(self._report_lag)

    def _report_lag(self, emptied: "asyncio.Future[None]") -> None:
        """Report the missed range, now that the queue is empty, and return to live."""
        if self.state is not SubscriptionState.LAGGING or emptied.cancelled():
            return
        missed = f'{{"after":{cursor_json(self.position)},"to":{cursor_json(self._missed_to)}}}'
        self.position, self._missed_to, self.state = self._missed_to, None, SubscriptionState.LIVE
        self._outbox.notifications.add(len(missed), 1)
        self._outbox.put_notifications(_HEAD % ("foreseal_lagged", self.ident), (missed,))


def cursor_json(position: StepPosition | None) -> str:
    """Format a position for clients: a cursor."""
    assert position is not None, "the feed begins at a position"
    number, index, step = position
    return f'{{"block":"{number:#x}","index":"{index:#x}","hash":"{step}"}}'
