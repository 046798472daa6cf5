"""Webhooks: targets, the outbox, and the schedule of deliveries.

```text
timeline (told: no)  --fan out-->  deliveries (waiting)  --claim, post-->  delivered
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
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.orm import aliased

from foreseal.payments.api.tables import DeliveryState, WebhookOrigin, deliveries, hooks
from foreseal.payments.ledger import Database, UnknownRecord
from foreseal.payments.ledger.tables import timeline

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
    values = {"id": id, "url": url, "origin": origin, "secret": secret, "created": now}
    tx.execute(insert(hooks).values(**values, retired=None, since=_newest(tx)))


def configure(tx: Connection, targets: Mapping[str, str], now: int) -> None:
    """Activate the targets of the configuration, URL by id. Retire configured targets that it no longer has."""
    _lock(tx)
    before = {row.id: row for row in tx.execute(select(hooks).where(hooks.c.origin == WebhookOrigin.CONFIGURED))}
    for id, url in targets.items():
        if id not in before:
            add(tx, id, url, WebhookOrigin.CONFIGURED, now, None)
        elif before[id].retired is not None:
            tx.execute(update(hooks).where(hooks.c.id == id).values(retired=None, since=_newest(tx)))
    for id, row in before.items():
        if id not in targets and row.retired is None:
            retire(tx, id, now)


def retire(tx: Connection, id: str, now: int) -> None:
    """Retire a target, which gets no further events. Raises `UnknownRecord`."""
    changed = tx.execute(update(hooks).where(hooks.c.id == id, hooks.c.retired.is_(None)).values(retired=now))
    if changed.rowcount != 1:
        raise UnknownRecord(f"webhooks: no active target {id}")


def drop_pending(tx: Connection, id: str) -> None:
    """Delete the pending deliveries of a target."""
    pending = (deliveries.c.hook_id == id) & (deliveries.c.state == DeliveryState.WAITING)
    tx.execute(delete(deliveries).where(pending))


@dataclass(frozen=True, slots=True)
class WebhookOutbox:
    """Outbox in a database that several processes share."""

    database: Database
    clock: Callable[[], float]
    """Unix time in seconds."""
    lease: float
    """Seconds until a claimed delivery may be claimed by another process."""

    def fan_out(self) -> int:
        """Create deliveries for new timeline entries. Return the number of entries."""
        fresh = select(timeline).where(timeline.c.told.is_(False)).order_by(timeline.c.id).limit(_FANNED_OUT)
        with self.database.reading() as tx:  # a read blocks no writer if there is nothing to do
            if tx.execute(fresh.limit(1)).first() is None:
                return 0
        # Not durable: after a power loss it runs again. Nothing is posted before `claim`, whose commit is durable.
        with self.database.transaction(durable=False) as tx:
            entries = list(tx.execute(fresh.with_for_update()))
            if not entries:
                return 0
            targets = list(tx.execute(select(hooks).where(hooks.c.retired.is_(None))))
            now = self.clock()
            waiting = [
                {
                    "hook_id": target.id,
                    "entry_id": entry.id,
                    "subject": entry.subject,
                    "subject_id": entry.subject_id,
                    "state": DeliveryState.WAITING,
                    "attempts": 0,
                    "due": now,
                    "leased_until": 0.0,
                    "error": "",
                }
                for entry in entries
                for target in targets
                if entry.id > target.since
            ]
            if waiting:
                tx.execute(insert(deliveries), waiting)
            tx.execute(update(timeline).where(timeline.c.id.in_([entry.id for entry in entries])).values(told=True))
            return len(entries)

    def targets(self) -> list[Row[Any]]:
        """Return the active targets."""
        with self.database.reading() as tx:
            return list(tx.execute(select(hooks).where(hooks.c.retired.is_(None)).order_by(hooks.c.id)))

    def claim(self, hook: str, limit: int) -> list[tuple[Row[Any], Row[Any]]]:
        """Claim the due deliveries of a target for the duration of the lease. Return each with its timeline entry."""
        now = self.clock()
        earlier = aliased(deliveries, name="earlier")
        held_up = (
            select(earlier.c.id)
            .where(
                earlier.c.hook_id == deliveries.c.hook_id,
                earlier.c.subject == deliveries.c.subject,
                earlier.c.subject_id == deliveries.c.subject_id,
                earlier.c.state == DeliveryState.WAITING,
                earlier.c.entry_id < deliveries.c.entry_id,
            )
            .exists()
        )
        due = (
            select(deliveries)
            .where(
                deliveries.c.hook_id == hook,
                deliveries.c.state == DeliveryState.WAITING,
                deliveries.c.due <= now,
                deliveries.c.leased_until <= now,
                ~held_up,
            )
            .order_by(deliveries.c.entry_id)
            .limit(limit)
        )
        with self.database.reading() as tx:  # a read blocks no writer, and most polls find nothing
            if tx.execute(due.limit(1)).first() is None:
                return []
        with self.database.transaction() as tx:
            found = list(tx.execute(due.with_for_update(skip_locked=True)))
            ids = [row.id for row in found]
            tx.execute(update(deliveries).where(deliveries.c.id.in_(ids)).values(leased_until=now + self.lease))
            query = select(timeline).where(timeline.c.id.in_([row.entry_id for row in found]))
            entries = {entry.id: entry for entry in tx.execute(query)}
        return [(row, entries[row.entry_id]) for row in found]

    def record_and_reschedule(self, outcomes: Sequence[tuple[Row[Any], str | None]]) -> None:
        """Record the outcomes of claimed deliveries: None for success, else the error."""
        now = self.clock()
        with self.database.transaction() as tx:
            for row, error in outcomes:
                attempts = row.attempts + 1
                state, due = DeliveryState.DELIVERED, now
                if error is not None:
                    state = DeliveryState.DEAD if attempts >= ATTEMPTS else DeliveryState.WAITING
                    due = now + min(2.0 ** (attempts - 1), MAX_RETRY_DELAY)
                mine = (deliveries.c.id == row.id) & (deliveries.c.state == DeliveryState.WAITING)
                columns = {"state": state, "attempts": attempts, "due": due, "error": (error or "")[:500]}
                tx.execute(update(deliveries).where(mine).values(**columns, leased_until=0.0))


def revive(tx: Connection, id: int, now: float) -> None:
    """Reset a dead delivery to its first attempt. Raises `UnknownRecord`."""
    dead = (deliveries.c.id == id) & (deliveries.c.state == DeliveryState.DEAD)
    values = {"state": DeliveryState.WAITING, "attempts": 0, "due": now, "leased_until": 0.0}
    if tx.execute(update(deliveries).where(dead).values(**values)).rowcount != 1:
        raise UnknownRecord(f"webhooks: no dead delivery {id}")


def _lock(tx: Connection) -> None:
    """Serialize configuration between processes. SQLite has one writer anyway."""
    if tx.dialect.name == "postgresql":
        tx.execute(select(func.pg_advisory_xact_lock(_CONFIGURING)))


def _newest(tx: Connection) -> int:
    return int(tx.execute(select(func.max(timeline.c.id))).scalar_one() or 0)
