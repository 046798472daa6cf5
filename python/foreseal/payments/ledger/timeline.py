"""Timeline of events of orders, refunds and payouts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_each, insert_all

# Key of a connection's entries that are not committed yet.
_RECORDED = "foreseal_recorded"

TRANSFER_UNMATCHED = "transfer unmatched"
"""Trigger of an entry that records an unmatched transfer. It changes no state."""
WEBHOOK_TESTED = "webhook tested"
"""Trigger of an entry whose event is sent to the tested target only."""
WEBHOOK_ROTATED = "secret rotated"
"""Trigger of an entry that records a new secret of a webhook. It is sent to no target."""


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
    details: Mapping[str, object]
    """Hashes, blocks and reasons."""


def record_entry(tx: Connection, entry: TimelineEntry) -> None:
    """Add an entry in the transaction of the event that it records."""
    record_entries(tx, [entry])


def record_entries(tx: Connection, recorded: Sequence[TimelineEntry]) -> None:
    """Add entries in the transaction of the events that they record."""
    rows: list[ColumnValues] = [
        {
            TimelineRecord.subject: entry.subject,
            TimelineRecord.subject_id: entry.subject_id,
            TimelineRecord.time: entry.time,
            TimelineRecord.trigger: entry.trigger,
            TimelineRecord.before: entry.before,
            TimelineRecord.after: entry.after,
            TimelineRecord.details: json.dumps(entry.details, sort_keys=True) if entry.details else "{}",
        }
        for entry in recorded
    ]
    insert_all(tx, TimelineRecord, rows)
    tx.info.setdefault(_RECORDED, []).extend(recorded)


def pop_recorded(tx: Connection) -> list[TimelineEntry]:
    """Return the entries that were added on a connection since the last call."""
    recorded: list[TimelineEntry] = tx.info.pop(_RECORDED, [])
    return recorded


def entries(tx: Connection, subject: str, subject_id: str) -> list[TimelineEntry]:
    """Return the timeline of one row, oldest entry first."""
    condition = (TimelineRecord.subject == subject) & (TimelineRecord.subject_id == subject_id)
    return [
        TimelineEntry(
            row.subject, row.subject_id, row.time, row.trigger, row.before, row.after, json.loads(row.details)
        )
        for row in fetch_each(tx, select(TimelineRecord).where(condition).order_by(TimelineRecord.id))
    ]
