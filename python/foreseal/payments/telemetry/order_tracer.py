"""Queue of a ledger's events to the thread that makes spans of them, so that no payment waits for it."""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from foreseal.payments.ledger import TimelineEntry
from foreseal.payments.ledger.observer import SilentObserver
from foreseal.payments.merchant_context import inherit_context
from foreseal.payments.telemetry.order_spans import NANOSECONDS, ORDERS, REFUNDS, DeliveryAttempt, OrderSpans

log = logging.getLogger(__name__)

_QUEUE_SIZE = 10_000
_STOP_TIME = 5.0
"""Maximum time in seconds to make the spans of what is queued at the end."""
# Seconds from the time of an entry to its commit, below which the commit refines it.
_MAX_LAG = 2

_Event = tuple[TimelineEntry, int] | DeliveryAttempt


class OrderTracer(SilentObserver):
    """Observer of a ledger and of webhook deliveries that traces orders. Safe to use from any thread."""

    def __init__(
        self, spans: OrderSpans, clock: Callable[[], float] = time.time, queue_size: int = _QUEUE_SIZE
    ) -> None:
        """Set up the thread, which `start` starts. `clock` returns Unix time in seconds."""
        self._spans = spans
        self._clock = clock
        self._queue: queue.Queue[_Event | None] = queue.Queue(queue_size)
        self._thread = threading.Thread(target=inherit_context(self._run), name="traces", daemon=True)
        self.dropped = 0
        """Events without spans because the queue was full."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after the queued events, at most after 5 s."""
        if self._thread.ident is not None:
            with contextlib.suppress(queue.Full):
                self._queue.put(None, timeout=_STOP_TIME)
            self._thread.join(_STOP_TIME)
        if self.dropped:
            log.warning("events of orders were not traced", extra={"events": self.dropped})

    def record_committed(self, entries: Sequence[TimelineEntry]) -> None:
        """Queue the entries of traced orders, and of refunds, whose orders the thread finds."""
        now = self._clock()
        for entry in entries:
            if entry.subject == REFUNDS or (entry.subject == ORDERS and self._spans.is_sampled(entry.subject_id)):
                self._put((entry, _instant(entry.time, now)))

    def record_attempt(self, attempt: DeliveryAttempt) -> None:
        """Queue an attempt to deliver an event."""
        is_order = attempt.subject == ORDERS and self._spans.is_sampled(attempt.subject_id)
        if is_order or attempt.subject == REFUNDS:
            self._put(attempt)

    def _put(self, event: _Event) -> None:
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self.dropped += 1

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            try:
                if isinstance(event, DeliveryAttempt):
                    self._spans.add_attempt(event)
                else:
                    self._spans.add_entry(*event)
            except Exception as error:  # for example of the database; the payment is not affected
                log.warning("an event was not traced", extra={"error": type(error).__name__})


def _instant(entry_time: int, now: float) -> int:
    """Return the time of an entry in nanoseconds: that of its commit, if this is close to the ledger's second."""
    return int((now if 0 <= now - entry_time < _MAX_LAG else entry_time) * NANOSECONDS)
