"""Outbox of webhooks: deliveries from timeline entries, their claims, and the schedule of attempts.

```text
timeline (new)       --fan out-->  deliveries (pending)  --claim, post-->  delivered
 written with the                   one per target and    lease        |-> later again: 1 s, 2 s, 4 s ... 1 h
 state change itself                wanted event type                  '-> dead, after ATTEMPTS
```

The timeline is the outbox. A delivery can be claimed only if no earlier one of the same target and subject is pending
and none is claimed, so the events of an order arrive in order, one at a time. A dead delivery blocks nothing. Delivery
is at least once: a process may die after the POST and before recording it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, select, update
from sqlalchemy.orm import aliased

from foreseal.payments.api import webhooks
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookOrigin, WebhookRecord
from foreseal.payments.ledger import Database, UnknownRecord
from foreseal.payments.ledger.event_types import event_type
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import ColumnValues, chunks, fetch_all, fetch_pairs, insert_all, update_all

ATTEMPTS = 16
"""Attempts per delivery. The last is 4 h 8 min after the first, plus the duration of the attempts."""
MAX_RETRY_DELAY = 3_600.0
"""Maximum seconds between two attempts."""
FAN_OUT_SIZE = 1_000
"""Maximum number of entries that are fanned out together."""

_MAX_ERROR = 500
# An arbitrary number, unique among the first keys of this database's advisory locks.
_CLAIMING = 0x666F7267


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this process may attempt until the end of its lease."""

    id: int
    webhook_id: str
    event_id: int
    subject: str
    subject_id: str
    attempts: int
    """Failed attempts so far."""
    leased_until: float
    """Unix time in seconds."""
    body: bytes
    """The event."""


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """Result of an attempt."""

    delivery: ClaimedDelivery
    error: str | None = None
    """Reason of a failure; None for success."""
    retry_after: float = 0.0
    """Minimum seconds until the next attempt, as the target requested."""
    is_gone: bool = False
    """True if the target wants no further webhooks (410)."""


@dataclass(frozen=True, slots=True)
class ActiveTarget:
    """An active target, and whether a delivery to it may be due."""

    hook: WebhookRecord
    due: bool


EncodeEvents = Callable[[Connection, Sequence[TimelineRecord]], dict[int, bytes]]
"""Function that returns the events of timeline entries by id."""


@dataclass(frozen=True, slots=True)
class WebhookOutbox:
    """Outbox in a database that several processes share."""

    database: Database
    clock: Callable[[], float]
    """Unix time in seconds."""
    lease_owner: str
    """Name and incarnation of this process, which no other process has. See `webhooks.release_leases`."""
    lease: float
    """Seconds until a claimed delivery may be claimed by another process; longer than an attempt can last."""
    encode: EncodeEvents

    def fan_out(self) -> int:
        """Create deliveries for new timeline entries. Return the number of entries, at most `FAN_OUT_SIZE`."""
        fresh = (
            select(TimelineRecord)
            .where(TimelineRecord.fanned_out.is_(False))
            .order_by(TimelineRecord.id)
            .limit(FAN_OUT_SIZE)
        )
        with self.database.reading() as tx:  # a read blocks no writer if there is nothing to do
            if tx.execute(fresh.with_only_columns(TimelineRecord.id).limit(1)).first() is None:
                return 0
        # Not durable: after a power loss it runs again. Nothing is posted before `claim`, whose commit is durable.
        with self.database.transaction(durable=False) as tx:
            entries = fetch_all(tx, fresh.with_for_update())
            now = self.clock()
            rows: list[ColumnValues] = []
            for target in fetch_all(tx, select(WebhookRecord).where(WebhookRecord.retired.is_(None))):
                types = None if target.events is None else frozenset(json.loads(target.events))
                rows += [
                    webhooks.waiting(target.id, entry.id, entry.subject, entry.subject_id, now)
                    for entry in entries
                    if entry.id > target.since and (types is None or event_type(entry) in types)
                ]
            insert_all(tx, DeliveryRecord, rows)
            for ids in chunks([entry.id for entry in entries]):
                done = update(TimelineRecord).where(TimelineRecord.id.in_(ids))
                tx.execute(done.values({TimelineRecord.fanned_out: True}))
            return len(entries)

    def targets(self) -> list[ActiveTarget]:
        """Return the active targets."""
        due = select(DeliveryRecord.id).where(
            DeliveryRecord.webhook_id == WebhookRecord.id, *_due(DeliveryRecord, self.clock())
        )
        query = (
            select(WebhookRecord, due.exists().label("due"))
            .where(WebhookRecord.retired.is_(None))
            .order_by(WebhookRecord.id)
        )
        with self.database.reading() as tx:
            return [ActiveTarget(row, bool(is_due)) for row, is_due in fetch_pairs(tx, query)]

    def claim(self, hook: str, limit: int) -> list[ClaimedDelivery]:
        """Claim due deliveries of a target, at most one per subject, for the duration of the lease."""
        now = self.clock()
        due = self._claimable(hook, now).limit(limit)
        with self.database.reading() as tx:  # a read blocks no writer, and many polls find nothing
            if limit < 1 or tx.execute(due.with_only_columns(DeliveryRecord.id).limit(1)).first() is None:
                return []
        with self.database.transaction() as tx:
            if tx.dialect.name == "postgresql":  # else two claims might not see each other; SQLite has one writer
                tx.execute(select(func.pg_advisory_xact_lock(_CLAIMING, func.hashtext(hook))))
            rows = fetch_all(tx, due.with_for_update(skip_locked=True))
            values: ColumnValues = {
                DeliveryRecord.leased_until: now + self.lease,
                DeliveryRecord.leased_by: self.lease_owner,
            }
            for ids in chunks([row.id for row in rows]):
                tx.execute(update(DeliveryRecord).where(DeliveryRecord.id.in_(ids)).values(values))
        entries: list[TimelineRecord] = []
        with self.database.reading() as tx:  # entries never change, so they need not be read under the lock
            for ids in chunks([row.event_id for row in rows]):
                entries += fetch_all(tx, select(TimelineRecord).where(TimelineRecord.id.in_(ids)))
            bodies = self.encode(tx, entries)
        return [
            ClaimedDelivery(
                row.id,
                hook,
                row.event_id,
                row.subject,
                row.subject_id,
                row.attempts,
                now + self.lease,
                bodies[row.event_id],
            )
            for row in rows
        ]

    def _claimable(self, hook: str, now: float) -> Select[DeliveryRecord]:
        other = aliased(DeliveryRecord, name="other")
        # Not null anyway: PostgreSQL would choose an index that begins with the state, and compare all pairs of waiting
        # deliveries, until it has analyzed the table.
        state = func.coalesce(other.state, other.state)
        held_up = (
            select(other.id)
            .where(
                other.webhook_id == DeliveryRecord.webhook_id,
                other.subject == DeliveryRecord.subject,
                other.subject_id == DeliveryRecord.subject_id,
                state == DeliveryState.WAITING,
                other.id != DeliveryRecord.id,
                (other.event_id < DeliveryRecord.event_id) | (other.leased_until > now),
            )
            .exists()
        )
        # In the order of the index, so that deliveries which wait for a retry are not read.
        return (
            select(DeliveryRecord)
            .where(DeliveryRecord.webhook_id == hook, *_due(DeliveryRecord, now), ~held_up)
            .order_by(DeliveryRecord.next_attempt, DeliveryRecord.id)
        )

    def record(self, outcomes: Sequence[DeliveryOutcome]) -> None:
        """Record the outcomes of claimed deliveries, and schedule the next attempts."""
        if not outcomes:
            return
        now = self.clock()
        # Not durable: after a power loss, delivered events are delivered again.
        with self.database.transaction(durable=False) as tx:
            for ids in chunks([outcome.delivery.id for outcome in outcomes if outcome.error is None]):
                values = {
                    DeliveryRecord.state: DeliveryState.DELIVERED,
                    DeliveryRecord.attempts: DeliveryRecord.attempts + 1,
                    DeliveryRecord.error: "",
                    **_RELEASED,
                }
                tx.execute(update(DeliveryRecord).where(DeliveryRecord.id.in_(ids), *self._mine()).values(values))
            self._record_failures(tx, [outcome for outcome in outcomes if outcome.error is not None], now)
            for hook in {outcome.delivery.webhook_id for outcome in outcomes if outcome.is_gone}:
                self._retire(tx, hook, int(now))

    def release(self, deliveries: Sequence[ClaimedDelivery]) -> None:
        """Release claimed deliveries that were not attempted."""
        if not deliveries:
            return
        with self.database.transaction(durable=False) as tx:
            for ids in chunks([delivery.id for delivery in deliveries]):
                tx.execute(update(DeliveryRecord).where(DeliveryRecord.id.in_(ids), *self._mine()).values(_RELEASED))

    def _record_failures(self, tx: Connection, failures: Sequence[DeliveryOutcome], now: float) -> None:
        changes: list[tuple[ColumnValues, ColumnValues]] = []
        delays: list[dict[str, object]] = []
        for outcome in failures:
            delivery, attempts = outcome.delivery, outcome.delivery.attempts + 1
            dead = outcome.is_gone or attempts >= ATTEMPTS
            due = now + next_delay(attempts, outcome.retry_after)
            selected: ColumnValues = {
                DeliveryRecord.id: delivery.id,
                DeliveryRecord.state: DeliveryState.WAITING,
                DeliveryRecord.leased_by: self.lease_owner,
            }
            written: ColumnValues = {
                DeliveryRecord.state: DeliveryState.DEAD if dead else DeliveryState.WAITING,
                DeliveryRecord.attempts: attempts,
                DeliveryRecord.next_attempt: due,
                DeliveryRecord.error: (outcome.error or "")[:_MAX_ERROR],
                **_RELEASED,
            }
            changes.append((selected, written))
            if not dead:
                delays.append(
                    {
                        "hook": delivery.webhook_id,
                        "table": delivery.subject,
                        "row": delivery.subject_id,
                        "entry": delivery.event_id,
                        "due": due,
                    }
                )
        update_all(tx, DeliveryRecord, changes)
        if delays:
            tx.execute(_DELAY_LATER, delays)

    def _retire(self, tx: Connection, hook: str, now: int) -> None:
        """Retire a registered target that answered 410. A configured one ends with its configuration."""
        query = select(WebhookRecord.id).where(
            WebhookRecord.id == hook, WebhookRecord.origin == WebhookOrigin.REGISTERED
        )
        if tx.execute(query).first() is not None:
            try:
                webhooks.retire(tx, hook, now)
            except UnknownRecord:  # retired in the meantime
                return

    def _mine(self) -> tuple[ColumnElement[bool], ...]:
        return (DeliveryRecord.state == DeliveryState.WAITING, DeliveryRecord.leased_by == self.lease_owner)


def next_delay(attempts: int, retry_after: float = 0.0) -> float:
    """Return the seconds from a failed attempt to the next one: 1 s, doubled for each failure, at most an hour."""
    return min(max(2.0 ** (attempts - 1), retry_after), MAX_RETRY_DELAY)


def _due(row: type[DeliveryRecord], now: float) -> tuple[ColumnElement[bool], ...]:
    return (row.state == DeliveryState.WAITING, row.next_attempt <= now, row.leased_until <= now)


_RELEASED: ColumnValues = {DeliveryRecord.leased_until: 0.0, DeliveryRecord.leased_by: None}
# The later deliveries of a subject wait for its first one. They are due with it, so that a claim does not read them.
_DELAY_LATER = (
    update(DeliveryRecord)
    .where(
        DeliveryRecord.webhook_id == bindparam("hook"),
        DeliveryRecord.subject == bindparam("table"),
        DeliveryRecord.subject_id == bindparam("row"),
        DeliveryRecord.state == DeliveryState.WAITING,
        DeliveryRecord.event_id > bindparam("entry"),
        DeliveryRecord.next_attempt < bindparam("due"),
    )
    .values({DeliveryRecord.next_attempt: bindparam("due")})
)
