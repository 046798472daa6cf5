"""The feed of steps, each once and in order, across connection failures.

    subscribe from `cursor` ── steps ──> check against `cursor`, yield, advance `cursor`
        ^                                   │ lagged: subscribe again, on the same connection
        └── back off, connect <─────────────┘ connection lost, or no message for too long

The only state is `cursor`, the step yielded last. The node resumes exactly there, so the client neither deduplicates
nor merges: after a lost connection it requests everything after `cursor` again. A large step arrives in parts; an
incomplete one is dropped with its connection. If the feed fails repeatedly at one cursor, it reads the next step alone,
in pages of one part.
"""

import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from foreseal.client.cursor import Cursor, checked_cursor
from foreseal.client.errors import ConnectionLost, CursorGone, FeedBroken, InvalidResponse, TimedOut
from foreseal.client.flashblock_parts import FlashblockAssembler
from foreseal.client.flashblocks import Event, Flashblock, FlashblockPage, StepAdded, StepRemoved
from foreseal.client.pagination import flashblock_parts_request, flashblocks_request, raw_page
from foreseal.client.sans_io import Flow, perform
from foreseal.client.session import ClientSession, is_transient
from foreseal.client.subscription import FeedSubscription
from foreseal.errors import RpcError

T = TypeVar("T")

log = logging.getLogger(__name__)

_CURSOR_GONE = -32001
# Maximum number of recent cursors; they identify the step before a block's first step when that step is removed.
_MAX_CURSORS = 4096
# Failures at one cursor after which the feed requests less.
_MAX_FAILURES_AT_CURSOR = 2


class Feed:
    """One reader of the feed."""

    def __init__(self, session: ClientSession, cursor: Cursor | None = None, *, follow: bool = True) -> None:
        """`cursor` is the step after which the feed begins; None: the newest step. Without `follow` it ends there."""
        self.cursor = None if cursor is None else checked_cursor(cursor)
        """Cursor of the last event, to resume from."""
        self.connections = 0
        """Connections so far; over HTTP, how often the node became reachable again."""
        self.lags = 0
        """Number of times the node dropped steps because the reader was too slow; the feed fetched them again."""
        self.deadline: float | None = None
        """Time on the session's clock after which `next` raises `TimedOut`."""
        self._session = session
        self._follow = follow
        self._dial = session.transport.dial if follow else None
        self._subscription: FeedSubscription | None = None
        self._arrived: deque[Any] = deque()
        self._parts = FlashblockAssembler()
        # Cursor of the page before, while it is inside a step.
        self._part_cursor: dict[str, Any] | None = None
        self._cursors: dict[str, Cursor] = {}
        self._failures = 0
        # Failures since the last event.
        self._failures_at_cursor = 0
        self._lost_since: float | None = None
        self._reached = False
        self._at_end = False

    def next(self) -> Flow[Event | None]:
        """Return the next event; None at the newest step, unless the feed follows.

        Raises `FeedError`, `RpcError` and `InvalidResponse`. Raises `ConnectionLost` and `TimedOut` only if the node
        was never reached, or was unreachable for longer than `Options.reconnect_timeout`. `next` may be called again
        after any of them and resumes at the same cursor.
        """
        try:
            while True:
                if self._arrived:
                    event = yield from self._guarded(self._next_event)
                    if event is not None:
                        return event
                elif self._at_end:
                    return None
                else:
                    polls = self._dial is None or self._requests_less()
                    yield from self._guarded(self._poll if polls else self._receive)
        except _DeadlinePassed:
            raise _late() from None

    def _guarded(self, step: Callable[[], Flow[T]]) -> Flow[T | None]:
        """Run a part of the loop. If the node is unreachable, drop the connection and return None."""
        try:
            return (yield from step())
        except (ConnectionLost, TimedOut) as error:
            # A connection that cannot be opened says nothing about the step at the cursor.
            if self._dial is None or self._subscription is not None:
                self._count_failure(error)
            self.abandon()
            yield from self._recover(error)
        except RpcError as error:
            was_inside = self._part_cursor is not None
            self.abandon()
            if not is_transient(error) and not (was_inside and error.code == _CURSOR_GONE):
                if error.code == _CURSOR_GONE:
                    raise _cursor_gone(error) from error
                raise
            self._reached = True
            yield from self._recover(error)
        except Exception:
            # The caller gets every error; drop the connection, so that `next` starts over.
            self.abandon()
            raise
        except BaseException:
            # A cancelled wait leaves an active subscription usable; any other interrupted operation starts over.
            if self._subscription is not None and not self._subscription.active:
                self.abandon()
            raise
        return None

    def connect(self) -> Flow[None]:
        """Fix the start of the feed, and connect if it follows over a connection. Raises like `next`."""
        try:
            while (self.cursor is None) if self._dial is None else (self._subscription is None):
                yield from self._guarded(self._begin if self._dial is None else self._connect)
        except _DeadlinePassed:
            raise _late() from None

    def close(self) -> Flow[None]:
        """Unsubscribe and close the connection."""
        subscription, self._subscription = self._subscription, None
        self._at_end = True
        self._arrived.clear()
        self._clear_parts()
        if subscription is not None:
            with contextlib.suppress(ConnectionLost, TimedOut):
                yield from perform(subscription.link.close)

    def abandon(self) -> None:
        """Drop the connection without waiting."""
        subscription, self._subscription = self._subscription, None
        self._arrived.clear()
        self._clear_parts()
        if subscription is not None:
            subscription.link.abandon()

    def _receive(self) -> Flow[None]:
        """Process one message of the subscription."""
        if self._subscription is None:
            yield from self._connect()
        assert self._subscription is not None
        message = yield from self._subscription.message(self._wait_for(self._session.options.heartbeat_timeout))
        self._mark_received()
        if message is None:
            # The node dropped some steps. Read them, and all later steps, from the cursor.
            assert self.cursor is not None, "it began"
            self.lags += 1
            self._clear_parts()
            yield from self._subscription.resubscribe(self.cursor)
        elif "heartbeat" in message:
            self._check_heartbeat(message["heartbeat"])
        else:
            self._add(message)

    def _connect(self) -> Flow[None]:
        cursor = yield from self._begin()
        timeout = self._wait_for(self._session.options.timeout)
        assert self._dial is not None, "it would poll"
        link = yield from perform(self._dial, timeout)
        self._subscription = FeedSubscription(self._session, link)
        yield from self._subscription.subscribe(cursor, timeout)
        self._found()

    def _poll(self) -> Flow[None]:
        """Read one page of steps after the cursor."""
        options = self._session.options
        cursor = yield from self._begin()
        self._wait_for(options.timeout)
        limit = 1 if self._requests_less() else options.page_size
        if self._part_cursor is None:
            request = flashblocks_request(cursor, limit, raw_page)
        else:
            request = flashblock_parts_request(self._part_cursor, limit, raw_page)
        page = yield from self._session.once(request)
        if self._lost_since is not None or not self.connections:
            self._found()
        self._mark_received()
        for message in page["flashblocks"]:
            self._add(message)
        self._part_cursor = None if self._parts.is_empty else page.get("cursor")
        if page["flashblocks"] or not page.get("complete"):
            return
        self._failures_at_cursor = 0
        if self._dial is not None:
            return
        if not self._follow:
            self._at_end = True
            return
        yield from perform(self._session.transport.sleep, self._wait_for(options.poll_interval))

    def _add(self, message: Any) -> None:
        """Add a step or a part of one."""
        whole = self._parts.add(message)
        if whole is not None:
            self._arrived.append(whole)

    def _clear_parts(self) -> None:
        """Drop an incomplete step."""
        self._parts.clear()
        self._part_cursor = None

    def _requests_less(self) -> bool:
        """Return True if the feed failed repeatedly at its cursor: the same request would fail again."""
        return self._failures_at_cursor >= _MAX_FAILURES_AT_CURSOR

    def _begin(self) -> Flow[Cursor]:
        """Fix the start of the feed, so that it misses nothing from here on, even before it connects."""
        if self.cursor is None:
            page = yield from self._session.once(flashblocks_request(None, 1, raw_page))
            self.cursor = _read_cursor(page.get("cursor"))
        return self.cursor

    def _found(self) -> None:
        self.connections += 1
        self._reached = True

    def _mark_received(self) -> None:
        self._failures = 0
        self._lost_since = None

    def _recover(self, error: Exception) -> Flow[None]:
        """Wait before the next attempt, or raise the error if attempts are exhausted."""
        options = self._session.options
        self._wait_for(0.0)
        self._failures += 1
        now = options.clock()
        if self._lost_since is None:
            self._lost_since = now
        if not self._reached and self._failures >= options.attempts:
            raise error
        if options.reconnect_timeout is not None and now - self._lost_since >= options.reconnect_timeout:
            raise error
        yield from self._session.pause(self._failures)

    def _count_failure(self, error: Exception) -> None:
        self._failures_at_cursor += 1
        if self._failures_at_cursor == _MAX_FAILURES_AT_CURSOR and self.cursor is not None and self._reached:
            log.warning("the feed fails repeatedly after %s: it requests one part at a time", _named(self.cursor))
            log.debug("last failure of the feed: %s", error)

    def _wait_for(self, seconds: float) -> float:
        """Return the shorter of `seconds` and the time until the deadline. Raise `TimedOut` after it."""
        if self.deadline is None:
            return seconds
        left = self.deadline - self._session.options.clock()
        if left <= 0:
            raise _DeadlinePassed
        return min(seconds, left)

    def _check_heartbeat(self, value: Any) -> None:
        """Compare a heartbeat with the last step yielded: if the newest step differs, the node dropped some."""
        cursor = _read_cursor(value)
        assert self.cursor is not None, "it began"
        if cursor.hash != self.cursor.hash:
            raise FeedBroken(f"the node is at {_named(cursor)}, but the last step that came is {_named(self.cursor)}")

    def _next_event(self) -> Flow[Event]:
        event = yield from self._accept(self._arrived[0])
        self._arrived.popleft()
        return event

    def _accept(self, message: Any) -> Flow[Event]:
        """Return the event of a message if it follows the last one."""
        flashblock = Flashblock.read(message)
        before = self.cursor
        assert before is not None, "it began"
        event: Event
        if flashblock.removed:
            if flashblock.hash != before.hash:
                raise FeedBroken(f"{_named(flashblock.cursor)} is undone, but the newest step is {_named(before)}")
            event = StepRemoved(flashblock, (yield from self._cursor_before(flashblock)))
        else:
            if flashblock.parent != before.hash:
                raise FeedBroken(f"{_named(flashblock.cursor)} follows {flashblock.parent}, not {_named(before)}")
            event = StepAdded(flashblock, flashblock.cursor)
        self._remember(before)
        self.cursor = event.cursor
        # A reorg can return to this cursor later, while a subscription is active: it must not be polled as well.
        self._failures_at_cursor = 0
        return event

    def _cursor_before(self, flashblock: Flashblock) -> Flow[Cursor]:
        """Return the cursor that remains after a step is removed."""
        if flashblock.index > 0:
            return Cursor(flashblock.number, flashblock.index - 1, flashblock.parent)
        cached = self._cursors.get(flashblock.parent)
        if cached is not None:
            return cached
        # The feed never saw the index of the last step of the block before; the node returns it with this removal.
        page = yield from self._session.execute(flashblocks_request(flashblock.cursor, 1, FlashblockPage.read))
        if page.cursor.hash != flashblock.parent:
            raise ConnectionLost("the chain changed again meanwhile")
        return page.cursor

    def _remember(self, cursor: Cursor) -> None:
        self._cursors[cursor.hash] = cursor
        if len(self._cursors) > _MAX_CURSORS:
            del self._cursors[next(iter(self._cursors))]


class _DeadlinePassed(Exception):
    """The feed's deadline passed."""


def _read_cursor(value: Any) -> Cursor:
    try:
        return Cursor.read(value)
    except ValueError as error:
        raise InvalidResponse(str(error)) from None


def _late() -> TimedOut:
    return TimedOut("no message from the feed within the timeout")


def _cursor_gone(error: RpcError) -> CursorGone:
    try:
        data = orjson.loads(error.data or b"null")
        oldest = Cursor.read(data.get("oldest", data))
    except (ValueError, AttributeError):
        oldest = None
    return CursorGone(error.message, oldest)


def _named(cursor: Cursor) -> str:
    return f"step {cursor.block}.{cursor.index} ({cursor.hash})"
