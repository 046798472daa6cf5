"""Transitions: compare-and-set of state and step with a timeline entry, in one database transaction."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.crash_points import OnCrashPoint, ignore_crash_point
from foreseal.payments.ledger.database import Database
from foreseal.payments.ledger.errors import ConcurrentUpdate, DuplicateRecord, UnknownRecord
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.ledger.queries import ColumnValues, chunks, fetch_all, fetch_each, fetch_one_or_none, update_all
from foreseal.payments.ledger.record import StatefulRecord
from foreseal.payments.ledger.states import Finality, LedgerStatus, StatusStep, Trigger, next_status
from foreseal.payments.ledger.timeline import TimelineEntry, record_entries, record_entry

S = TypeVar("S", bound=StatefulRecord)
RowDetails = Mapping[str, Mapping[str, object]]
"""Details for the timeline by row id."""

_FINALITY_TRIGGERS: dict[StatusStep, Trigger] = {
    Finality.PROVISIONAL: Trigger.DEMOTE,
    Finality.CONFIRMED: Trigger.CONFIRM,
    Finality.FINAL: Trigger.FINALIZE,
}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The database, with the clock and the crash points that every change uses."""

    database: Database
    clock: Callable[[], int]
    """Clock in seconds since 1970, for timeline, leases and days.

    The chain's deadlines are compared with block times instead.
    """
    passed: OnCrashPoint = ignore_crash_point

    def create(
        self, tx: Connection, model: type[StatefulRecord], trigger: Trigger, values: ColumnValues, **details: object
    ) -> None:
        """Insert the row that a trigger creates. `details` are JSON for the timeline.

        Raises `DuplicateRecord`, which ends the transaction, if its id or another unique key already exists.
        """
        status = next_status(model.transitions, None, trigger)
        name, id = model.__tablename__, values[model.id]
        try:
            tx.execute(insert(model).values({**values, model.state: status.state, model.step: status.step}))
        except IntegrityError as error:
            raise DuplicateRecord(f"{name}: {id} or another of its keys already exists") from error
        record_entry(tx, TimelineEntry(name, id, self.clock(), trigger, None, str(status), details))

    def move(self, tx: Connection, model: type[S], row: S, trigger: Trigger, **details: object) -> S:
        """Apply a trigger to the row as it was read. Return the updated row.

        Raises `TransitionNotAllowed` if the table has no such transition, `ConcurrentUpdate` if the row has changed.
        `details` are JSON for the timeline.
        """
        before = LedgerStatus(row.state, row.step)
        after = next_status(model.transitions, before, trigger)
        same = (model.id == row.id) & (model.state == before.state) & (model.step == before.step)
        changing = update(model).where(same).values({model.state: after.state, model.step: after.step})
        moved = fetch_one_or_none(tx, changing.returning(model))
        name = model.__tablename__
        if moved is None:
            raise ConcurrentUpdate(f"{name}: {row.id} is no longer {before}")
        record_entry(tx, TimelineEntry(name, row.id, self.clock(), trigger, str(before), str(after), details))
        return moved

    def move_all(
        self, tx: Connection, model: type[S], rows: Sequence[S], trigger: Trigger, details: RowDetails | None = None
    ) -> None:
        """Apply one trigger to rows that were read and locked in this transaction.

        `details` are JSON for the timeline, by id. Raises like `move`; nothing is then committed.
        """
        now, name = self.clock(), model.__tablename__
        changes: list[tuple[ColumnValues, ColumnValues]] = []
        logged: list[TimelineEntry] = []
        for row in rows:
            before = LedgerStatus(row.state, row.step)
            after = next_status(model.transitions, before, trigger)
            unchanged: ColumnValues = {model.id: row.id, model.state: before.state, model.step: before.step}
            changes.append((unchanged, {model.state: after.state, model.step: after.step}))
            described = dict((details or {}).get(row.id, {}))
            logged.append(TimelineEntry(name, row.id, now, trigger, str(before), str(after), described))
        if update_all(tx, model, changes) != len(rows):
            raise ConcurrentUpdate(f"{name}: one of {len(rows)} rows has changed")
        record_entries(tx, logged)

    def follow_all(self, tx: Connection, model: type[S], rows: Sequence[S], step: StatusStep) -> None:
        """Move effected rows, read and locked in this transaction, to the step of their transfers."""
        moving = [row for row in rows if row.step is not step and row.step is not Finality.FINAL]
        self.move_all(tx, model, moving, _FINALITY_TRIGGERS[step])

    def follow(self, tx: Connection, model: type[S], row: S, step: StatusStep, **details: object) -> None:
        """Move an effected row to the step of its transfer."""
        if row.step is step or row.step is Finality.FINAL:
            return
        self.move(tx, model, row, _FINALITY_TRIGGERS[step], **details)

    def allows(self, model: type[S], row: S, trigger: Trigger) -> bool:
        """Return True if a trigger leads somewhere from the status of the row as it was read."""
        return (LedgerStatus(row.state, row.step), trigger) in model.transitions


def read(tx: Connection, model: type[S], id: str) -> S:
    """Return an order, refund or payout by its id. Raises `UnknownRecord`."""
    return _fetch_row(tx, model, id, lock=False)


def locked(tx: Connection, model: type[S], id: str) -> S:
    """Return a row like `read`, locked until the end of this transaction. Raises `UnknownRecord`."""
    return _fetch_row(tx, model, id, lock=True)


def locked_all(tx: Connection, model: type[S], ids: Collection[str]) -> list[S]:
    """Return the existing rows with these ids, ordered by id and locked until the end of this transaction."""
    rows: list[S] = []
    for chunk in chunks(sorted(ids)):
        query = select(model).where(model.id.in_(chunk)).order_by(model.id)
        rows += fetch_all(tx, query.with_for_update())
    return rows


def read_all(tx: Connection, model: type[S], ids: Collection[str]) -> list[S]:
    """Return the existing rows with these ids."""
    return [
        row
        for chunk in chunks([id for id in ids if is_storable(id)])
        for row in fetch_each(tx, select(model).where(model.id.in_(chunk)))
    ]


def unknown_record(model: type[StatefulRecord], id: str) -> UnknownRecord:
    """Return the error for an id that no row has."""
    return UnknownRecord(f"{model.__tablename__}: no row has the id {id if is_storable(id) else ascii(id)}")


def _fetch_row(tx: Connection, model: type[S], id: str, *, lock: bool) -> S:
    query = select(model).where(model.id == id)
    row = fetch_one_or_none(tx, query.with_for_update() if lock else query) if is_storable(id) else None
    if row is None:
        raise unknown_record(model, id)
    return row
