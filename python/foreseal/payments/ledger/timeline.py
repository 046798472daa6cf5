"""Timeline of events of orders, refunds and payouts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from foreseal.payments.ledger.tables import timeline


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One transition or another notable event."""

    subject: str
    """Name of the table: orders, refunds or payouts."""
    subject_id: str
    time: int
    """Unix time in seconds by the ledger's clock."""
    trigger: str
    before: str | None
    """Place before the transition; None for the first entry."""
    after: str
    details: dict[str, Any]
    """Hashes, blocks and reasons."""


def record_entry(tx: Connection, entry: TimelineEntry) -> None:
    """Add an entry in the transaction of the event that it records."""
    record_entries(tx, [entry])


def record_entries(tx: Connection, recorded: Sequence[TimelineEntry]) -> None:
    """Add entries in the transaction of the events that they record."""
    rows = [
        {
            "subject": entry.subject,
            "subject_id": entry.subject_id,
            "time": entry.time,
            "trigger": entry.trigger,
            "before": entry.before,
            "after": entry.after,
            "details": json.dumps(entry.details, sort_keys=True) if entry.details else "{}",
        }
        for entry in recorded
    ]
    if rows:
        tx.execute(insert(timeline), rows)


def entries(tx: Connection, subject: str, subject_id: str) -> list[TimelineEntry]:
    """Return the timeline of one row, oldest entry first."""
    condition = (timeline.c.subject == subject) & (timeline.c.subject_id == subject_id)
    return [
        TimelineEntry(
            row.subject, row.subject_id, row.time, row.trigger, row.before, row.after, json.loads(row.details)
        )
        for row in tx.execute(select(timeline).where(condition).order_by(timeline.c.id))
    ]
