"""Webhooks: targets, the outbox, and the schedule of deliveries.

```text
timeline (new)       --fan out-->  deliveries (pending)  --claim, post-->  delivered
 written with the                   one per target        lease        |-> later again: 1 s, 2 s, 4 s ... 1 h
 state change itself                                                   '-> dead, after ATTEMPTS
```

The timeline is the outbox. A delivery can be claimed only if no earlier one for the same target and subject is waiting,
so the events of an order arrive in order. A dead delivery blocks nothing. Delivery is at least once: a process may die
after the POST and before recording it.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.orm import aliased

from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookOrigin, WebhookRecord
from foreseal.payments.ledger import Database, UnknownRecord
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, fetch_each

ATTEMPTS = 16
"""Attempts per delivery; the last is about nine hours after the first."""
MAX_RETRY_DELAY = 3_600.0
"""Maximum seconds between two attempts."""

_FANNED_OUT = 1_000
# An arbitrary number, unique among this database's advisory locks.
_CONFIGURING = 0x666F7266


def register(tx: Connection, id: str, url: str, now: int, random: Callable[[int], str] = secrets.token_hex) -> str:
    """Register a new target. Return the secret that signs its webhooks."""
    secret = random(32)
    add(tx, id, url, WebhookOrigin.REGISTERED, now, secret)
    return secret


def add(tx: Connection, id: str, url: str, origin: WebhookOrigin, now: int, secret: str | None) -> None:
    """Add a target for events from now on."""
    values: ColumnValues = {
        WebhookRecord.id: id,
        WebhookRecord.url: url,
        WebhookRecord.origin: origin,
        WebhookRecord.secret: secret,
        WebhookRecord.created: now,
        WebhookRecord.retired: None,
        WebhookRecord.since: _newest(tx),
    }
    tx.execute(insert(WebhookRecord).values(values))


def configure(tx: Connection, targets: Mapping[str, str], now: int) -> None:
    """Activate the targets of the configuration, URL by id. Retire configured targets that it no longer has."""
    _lock(tx)
    before = {
        row.id: row
        for row in fetch_each(tx, select(WebhookRecord).where(WebhookRecord.origin == WebhookOrigin.CONFIGURED))
    }
    for id, url in targets.items():
        if id not in before:
            add(tx, id, url, WebhookOrigin.CONFIGURED, now, None)
        elif before[id].retired is not None:
            tx.execute(
                update(WebhookRecord)
                .where(WebhookRecord.id == id)
                .values({WebhookRecord.retired: None, WebhookRecord.since: _newest(tx)})
            )
    for id, row in before.items():
        if id not in targets and row.retired is None:
            retire(tx, id, now)


def retire(tx: Connection, id: str, now: int) -> None:
    """Retire a target, which gets no further events. Raises `UnknownRecord`."""
    changed = tx.execute(
        update(WebhookRecord)
        .where(WebhookRecord.id == id, WebhookRecord.retired.is_(None))
        .values({WebhookRecord.retired: now})
    )
    if changed.rowcount != 1:
        raise UnknownRecord(f"webhooks: no active target {id}")


def drop_pending(tx: Connection, id: str) -> None:
    """Delete the pending deliveries of a target."""
    pending = (DeliveryRecord.webhook_id == id) & (DeliveryRecord.state == DeliveryState.WAITING)
    tx.execute(delete(DeliveryRecord).where(pending))


@dataclass(frozen=True, slots=True)
class WebhookOutbox:
    """Outbox in a database that several processes share."""

    database: Database
    clock: Callable[[], float]
    """Unix time in seconds."""
    lease: float
    """Seconds until a claimed delivery may be claimed by another process."""
    owner: str = ""
    """Name and incarnation of this process."""

    def fan_out(self) -> int:
        """Create deliveries for new timeline entries. Return the number of entries."""
        fresh = (
            select(TimelineRecord)
            .where(TimelineRecord.fanned_out.is_(False))
            .order_by(TimelineRecord.id)
            .limit(_FANNED_OUT)
        )
        with self.database.reading() as tx:  # a read blocks no writer if there is nothing to do
            if tx.execute(fresh.limit(1)).first() is None:
                return 0
        # Not durable: after a power loss it runs again. Nothing is posted before `claim`, whose commit is durable.
        with self.database.transaction(durable=False) as tx:
            entries = fetch_all(tx, fresh.with_for_update())
            if not entries:
                return 0
            targets = fetch_all(tx, select(WebhookRecord).where(WebhookRecord.retired.is_(None)))
            now = self.clock()
            waiting = [
                {
                    DeliveryRecord.webhook_id.key: target.id,
                    DeliveryRecord.event_id.key: entry.id,
                    DeliveryRecord.subject.key: entry.subject,
                    DeliveryRecord.subject_id.key: entry.subject_id,
                    DeliveryRecord.state.key: DeliveryState.WAITING,
                    DeliveryRecord.attempts.key: 0,
                    DeliveryRecord.next_attempt.key: now,
                    DeliveryRecord.leased_until.key: 0.0,
                    DeliveryRecord.error.key: "",
                }
                for entry in entries
                for target in targets
                if entry.id > target.since
            ]
            if waiting:
                tx.execute(insert(DeliveryRecord), waiting)
            tx.execute(
                update(TimelineRecord)
                .where(TimelineRecord.id.in_([entry.id for entry in entries]))
                .values({TimelineRecord.fanned_out: True})
            )
            return len(entries)

    def targets(self) -> list[WebhookRecord]:
        """Return the active targets."""
        with self.database.reading() as tx:
            return fetch_all(
                tx, select(WebhookRecord).where(WebhookRecord.retired.is_(None)).order_by(WebhookRecord.id)
            )

    def claim(self, hook: str, limit: int) -> list[tuple[DeliveryRecord, TimelineRecord]]:
        """Claim the due deliveries of a target for the duration of the lease. Return each with its timeline entry."""
        now = self.clock()
        earlier = aliased(DeliveryRecord, name="earlier")
        held_up = (
            select(earlier.id)
            .where(
                earlier.webhook_id == DeliveryRecord.webhook_id,
                earlier.subject == DeliveryRecord.subject,
                earlier.subject_id == DeliveryRecord.subject_id,
                earlier.state == DeliveryState.WAITING,
                earlier.event_id < DeliveryRecord.event_id,
            )
            .exists()
        )
        due = (
            select(DeliveryRecord)
            .where(
                DeliveryRecord.webhook_id == hook,
                DeliveryRecord.state == DeliveryState.WAITING,
                DeliveryRecord.next_attempt <= now,
                DeliveryRecord.leased_until <= now,
                ~held_up,
            )
            .order_by(DeliveryRecord.event_id)
            .limit(limit)
        )
        with self.database.reading() as tx:  # a read blocks no writer, and most polls find nothing
            if tx.execute(due.limit(1)).first() is None:
                return []
        with self.database.transaction() as tx:
            found = fetch_all(tx, due.with_for_update(skip_locked=True))
            ids = [row.id for row in found]
            tx.execute(
                update(DeliveryRecord)
                .where(DeliveryRecord.id.in_(ids))
                .values({DeliveryRecord.leased_until: now + self.lease, DeliveryRecord.leased_by: self.owner})
            )
            query = select(TimelineRecord).where(TimelineRecord.id.in_([row.event_id for row in found]))
            entries = {entry.id: entry for entry in fetch_each(tx, query)}
        return [(row, entries[row.event_id]) for row in found]

    def record_and_reschedule(self, outcomes: Sequence[tuple[DeliveryRecord, str | None]]) -> None:
        """Record the outcomes of claimed deliveries: None for success, else the error."""
        now = self.clock()
        with self.database.transaction() as tx:
            for row, error in outcomes:
                attempts = row.attempts + 1
                state, due = DeliveryState.DELIVERED, now
                if error is not None:
                    state = DeliveryState.DEAD if attempts >= ATTEMPTS else DeliveryState.WAITING
                    due = now + min(2.0 ** (attempts - 1), MAX_RETRY_DELAY)
                mine = (DeliveryRecord.id == row.id) & (DeliveryRecord.state == DeliveryState.WAITING)
                values: ColumnValues = {
                    DeliveryRecord.state: state,
                    DeliveryRecord.attempts: attempts,
                    DeliveryRecord.next_attempt: due,
                    DeliveryRecord.error: (error or "")[:500],
                    DeliveryRecord.leased_until: 0.0,
                }
                tx.execute(update(DeliveryRecord).where(mine).values(values))


def release_leases(tx: Connection, name: str) -> None:
    """Release the deliveries that earlier processes with this name have claimed."""
    leased = (DeliveryRecord.state == DeliveryState.WAITING) & (DeliveryRecord.leased_until > 0)
    mine = DeliveryRecord.leased_by.startswith(f"{name} ", autoescape=True)
    tx.execute(update(DeliveryRecord).where(leased, mine).values({DeliveryRecord.leased_until: 0.0}))


def revive(tx: Connection, id: int, now: float) -> None:
    """Reset a dead delivery to its first attempt. Raises `UnknownRecord`."""
    dead = (DeliveryRecord.id == id) & (DeliveryRecord.state == DeliveryState.DEAD)
    values: ColumnValues = {
        DeliveryRecord.state: DeliveryState.WAITING,
        DeliveryRecord.attempts: 0,
        DeliveryRecord.next_attempt: now,
        DeliveryRecord.leased_until: 0.0,
    }
    if tx.execute(update(DeliveryRecord).where(dead).values(values)).rowcount != 1:
        raise UnknownRecord(f"webhooks: no dead delivery {id}")


def _lock(tx: Connection) -> None:
    """Serialize configuration between processes. SQLite has one writer anyway."""
    if tx.dialect.name == "postgresql":
        tx.execute(select(func.pg_advisory_xact_lock(_CONFIGURING)))


def _newest(tx: Connection) -> int:
    return int(tx.execute(select(func.max(TimelineRecord.id))).scalar_one() or 0)
