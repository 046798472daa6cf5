"""Spans of an order's trace from the entries of its timeline.

```text
order            from the order's creation to its end: final, canceled or expired
  order.TYPE     from the event before to this event
  refund         from the refund's creation to its end
    refund.TYPE
  webhook TYPE   an attempt to deliver an event
```
"""

from collections.abc import Callable
from dataclasses import dataclass
from secrets import randbits

import orjson
from sqlalchemy import select

from foreseal.bounded_cache import BoundedCache
from foreseal.payments.api.webhook_outbox import DeliveryOutcome
from foreseal.payments.ledger import Database, TimelineEntry, Trigger
from foreseal.payments.ledger.event_types import OBJECTS, entry_type, event_id
from foreseal.payments.ledger.models import OrderRecord, RefundRecord
from foreseal.payments.ledger.timeline import entries
from foreseal.payments.telemetry.trace_ids import TraceIds, is_trace_sampled
from foreseal.telemetry.signals import FinishedSpan, SpanReference

NANOSECONDS = 1_000_000_000
ORDERS, REFUNDS = OrderRecord.__tablename__, RefundRecord.__tablename__

# Orders and refunds whose times are cached; those of others are read from the timeline.
_MAX_CACHED = 10_000
_MAX_ERROR = 200
_ENDS = frozenset({Trigger.FINALIZE, Trigger.EXPIRE, Trigger.BLOCK})
_FAILURES = frozenset({Trigger.FAIL, Trigger.BLOCK})


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt to deliver an event about an order or a refund. Times are Unix times in nanoseconds."""

    subject: str
    subject_id: str
    event: int
    webhook_id: str
    attempt: int
    body: bytes
    start: int
    end: int
    error: str | None


def to_attempt(outcome: DeliveryOutcome, now: float, seconds: float) -> DeliveryAttempt:
    """Return the attempt that ended `now`, in Unix time, after some seconds."""
    delivery, end = outcome.delivery, int(now * NANOSECONDS)
    return DeliveryAttempt(
        delivery.subject,
        delivery.subject_id,
        delivery.event_id,
        delivery.webhook_id,
        delivery.attempts + 1,
        delivery.body,
        end - int(seconds * NANOSECONDS),
        end,
        outcome.error,
    )


@dataclass(slots=True)
class _Progress:
    """Times of a row's first event and of its last one."""

    first: int
    last: int


class OrderSpans:
    """Assembler of the spans of sampled orders. For one thread."""

    def __init__(self, database: Database, ids: TraceIds, ratio: float, export: Callable[[FinishedSpan], None]) -> None:
        """`ratio` is the share of the orders that are traced."""
        self._database = database
        self._ids = ids
        self._ratio = ratio
        self._export = export
        self._progress: BoundedCache[str, _Progress] = BoundedCache(_MAX_CACHED)
        self._orders: BoundedCache[str, str | None] = BoundedCache(_MAX_CACHED)

    def is_sampled(self, order_id: str) -> bool:
        """Return True if an order is traced."""
        return is_trace_sampled(self._ids.of_order(order_id).trace_id, self._ratio)

    def add_entry(self, entry: TimelineEntry, time: int) -> None:
        """Export the spans that end with a committed entry. `time` is Unix time in nanoseconds."""
        order_id = self._order_of(entry.subject, entry.subject_id)
        if order_id is None or not self.is_sampled(order_id):
            return
        key = f"{entry.subject} {entry.subject_id}"
        progress = self._progress.get(key)
        if progress is None:
            progress = self._read_progress(entry, time)
            self._progress.add(key, progress)
        subject = self._ids.of_subject(order_id, entry.subject, entry.subject_id)
        end = max(time, progress.last)
        attributes = self._attributes(order_id, entry.subject, entry.subject_id)
        attributes[f"foreseal.{OBJECTS[entry.subject]}.status"] = entry.after
        event = FinishedSpan(
            entry_type(entry.subject, entry.trigger, entry.after),
            SpanReference(subject.trace_id, randbits(64) or 1),
            subject,
            progress.last,
            end,
            attributes | _transaction(entry),
            error=_error(entry),
        )
        self._export(event)
        progress.last = end
        if entry.trigger in _ENDS:
            self._progress.pop(key, None)
            parent = None if entry.subject == ORDERS else self._ids.of_order(order_id)
            self._export(FinishedSpan(OBJECTS[entry.subject], subject, parent, progress.first, end, attributes))

    def add_attempt(self, attempt: DeliveryAttempt) -> None:
        """Export the span of an attempt to deliver an event."""
        order_id = self._order_of(attempt.subject, attempt.subject_id)
        if order_id is None or not self.is_sampled(order_id):
            return
        parent = self._ids.of_subject(order_id, attempt.subject, attempt.subject_id)
        attributes = self._attributes(order_id, attempt.subject, attempt.subject_id)
        attributes |= {
            "foreseal.webhook.id": attempt.webhook_id,
            "foreseal.event.id": event_id(attempt.event),
            "foreseal.webhook.attempt": attempt.attempt,
        }
        span = FinishedSpan(
            f"webhook {orjson.loads(attempt.body)['type']}",
            SpanReference(parent.trace_id, randbits(64) or 1),
            parent,
            attempt.start,
            attempt.end,
            attributes,
            kind="client",
            error=None if attempt.error is None else attempt.error[:_MAX_ERROR],
        )
        self._export(span)

    def _order_of(self, subject: str, id: str) -> str | None:
        """Return the order of an order or a refund; None for the refund of an unmatched transfer."""
        if subject == ORDERS:
            return id
        if id not in self._orders:
            with self._database.reading() as tx:
                order_id = tx.execute(select(RefundRecord.order_id).where(RefundRecord.id == id)).scalar()
            self._orders.add(id, order_id)
        return self._orders[id]

    def _read_progress(self, entry: TimelineEntry, time: int) -> _Progress:
        """Return the times of the entries before this one, which another process may have committed."""
        if entry.before is None:
            return _Progress(time, time)
        with self._database.reading() as tx:
            recorded = entries(tx, entry.subject, entry.subject_id)
        same = [index for index, each in enumerate(recorded) if _key(each) == _key(entry)]
        before = recorded[: same[-1]] if same else recorded
        if not before:
            return _Progress(time, time)
        return _Progress(before[0].time * NANOSECONDS, before[-1].time * NANOSECONDS)

    def _attributes(self, order_id: str, subject: str, id: str) -> dict[str, str | int]:
        attributes: dict[str, str | int] = {"foreseal.chain.id": self._ids.chain_id, "foreseal.order.id": order_id}
        if self._ids.merchant is not None:
            attributes["foreseal.merchant"] = self._ids.merchant
        if subject != ORDERS:
            attributes[f"foreseal.{OBJECTS[subject]}.id"] = id
        return attributes


def _key(entry: TimelineEntry) -> tuple[int, str, str | None, str]:
    return entry.time, entry.trigger, entry.before, entry.after


def _transaction(entry: TimelineEntry) -> dict[str, str | int]:
    hash = entry.details.get("transaction")
    return {"foreseal.transaction.hash": hash} if isinstance(hash, str) else {}


def _error(entry: TimelineEntry) -> str | None:
    return f"{OBJECTS[entry.subject]} is {entry.after}" if entry.trigger in _FAILURES else None
