"""What happened to an order, a refund or a payout, and when."""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from foreseal.payments.ledger.tables import timeline


@dataclass(frozen=True, slots=True)
class Entry:
    """One transition, or one thing worth knowing."""

    subject: str
    """orders, refunds or payouts."""
    subject_id: str
    time: int
    """Seconds since 1970 by the ledger's clock."""
    trigger: str
    before: str | None
    """Place before; None for the first entry."""
    after: str
    details: dict[str, Any]
    """Hashes, blocks and reasons."""


def note(tx: Connection, entry: Entry) -> None:
    """Add an entry, in the transaction of what it tells of."""
    tx.execute(
        insert(timeline).values(
            subject=entry.subject,
            subject_id=entry.subject_id,
            time=entry.time,
            trigger=entry.trigger,
            before=entry.before,
            after=entry.after,
            details=json.dumps(entry.details, sort_keys=True),
        )
    )


def entries(tx: Connection, subject: str, subject_id: str) -> list[Entry]:
    """The timeline of one thing, oldest first."""
    wanted = (timeline.c.subject == subject) & (timeline.c.subject_id == subject_id)
    return [
        Entry(row.subject, row.subject_id, row.time, row.trigger, row.before, row.after, json.loads(row.details))
        for row in tx.execute(select(timeline).where(wanted).order_by(timeline.c.id))
    ]
