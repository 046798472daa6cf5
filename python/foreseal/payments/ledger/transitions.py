"""Transitions: compare-and-set of state and step with a timeline entry, in one database transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Table, Update, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.crash_points import OnCrashPoint, ignore_crash_point
from foreseal.payments.ledger.database import Database
from foreseal.payments.ledger.errors import ConcurrentUpdate, DuplicateRecord, UnknownRecord
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.ledger.states import (
    DISBURSEMENT_TRANSITIONS,
    ORDER_TRANSITIONS,
    Finality,
    OrderStatus,
    StatusStep,
    Transitions,
    Trigger,
    next_status,
)
from foreseal.payments.ledger.tables import orders, payouts, refunds
from foreseal.payments.ledger.timeline import TimelineEntry, record_entries, record_entry

_TRANSITIONS_BY_TABLE: dict[str, Transitions] = {
    orders.name: ORDER_TRANSITIONS,
    refunds.name: DISBURSEMENT_TRANSITIONS,
    payouts.name: DISBURSEMENT_TRANSITIONS,
}
_FINALITY_TRIGGERS: dict[StatusStep, Trigger] = {
    Finality.PROVISIONAL: Trigger.DEMOTE,
    Finality.CONFIRMED: Trigger.CONFIRM,
    Finality.FINAL: Trigger.FINALIZE,
}
# Values per query; databases limit their number.
_CHUNK_SIZE = 500

RowDetails = Mapping[str, Mapping[str, Any]]
"""Details for the timeline by row id."""
TRANSITIONS_KEY = "transitions"
"""Key in a table's `info` for transitions that a component outside of the ledger defines."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The database, with the clock and the crash points that every change uses."""

    database: Database
    clock: Callable[[], int]
    """Clock in seconds since 1970, for timeline, leases and days.

    The chain's deadlines are compared with block times instead.
    """
    passed: OnCrashPoint = ignore_crash_point

    def create(self, tx: Connection, table: Table, trigger: Trigger, **values: Any) -> None:
        """Insert the row that a trigger creates.

        Raises `DuplicateRecord`, which ends the transaction, if its id or another unique key already exists.
        """
        status = next_status(_transitions(table), None, trigger)
        try:
            tx.execute(insert(table).values(**values, state=status.state, step=status.step))
        except IntegrityError as error:
            raise DuplicateRecord(f"{table.name}: {values['id']} or another of its keys already exists") from error
        record_entry(tx, TimelineEntry(table.name, values["id"], self.clock(), trigger, None, str(status), {}))

    def move(self, tx: Connection, table: Table, row: Row[Any], trigger: Trigger, **details: Any) -> Row[Any]:
        """Apply a trigger to the row as it was read. Return the updated row.

        Raises `TransitionNotAllowed` if the table has no such transition, `ConcurrentUpdate` if the row has changed.
        `details` are JSON for the timeline.
        """
        before = OrderStatus(row.state, row.step)
        after = next_status(_transitions(table), before, trigger)
        same = (table.c.id == row.id) & (table.c.state == before.state) & (table.c.step == before.step)
        changing = update(table).where(same).values(state=after.state, step=after.step)
        moved = tx.execute(changing.returning(table)).one_or_none()
        if moved is None:
            raise ConcurrentUpdate(f"{table.name}: {row.id} is no longer {before}")
        record_entry(tx, TimelineEntry(table.name, row.id, self.clock(), trigger, str(before), str(after), details))
        return moved

    def move_all(
        self, tx: Connection, table: Table, rows: Sequence[Row[Any]], trigger: Trigger, details: RowDetails
    ) -> None:
        """Apply one trigger to rows as they were read and locked in this transaction.

        `details` are JSON for the timeline, by id. Raises like `move`; nothing is then committed.
        """
        if not rows:
            return
        now = self.clock()
        changes: list[dict[str, Any]] = []
        logged: list[TimelineEntry] = []
        for row in rows:
            before = OrderStatus(row.state, row.step)
            after = next_status(_transitions(table), before, trigger)
            change = {"row": row.id, "state0": before.state, "step0": before.step}
            changes.append(change | {"state1": after.state, "step1": after.step})
            described = dict(details.get(row.id, {}))
            logged.append(TimelineEntry(table.name, row.id, now, trigger, str(before), str(after), described))
        if tx.execute(_compare_and_set(table), changes).rowcount != len(rows):
            raise ConcurrentUpdate(f"{table.name}: one of {len(rows)} rows has changed")
        record_entries(tx, logged)

    def follow_all(
        self, tx: Connection, table: Table, rows: Sequence[Row[Any]], step: StatusStep, details: RowDetails
    ) -> None:
        """Move effected rows, read and locked in this transaction, to the step of their transfers."""
        moving = [row for row in rows if row.step is not step and row.step is not Finality.FINAL]
        self.move_all(tx, table, moving, _FINALITY_TRIGGERS[step], details)

    def follow(self, tx: Connection, table: Table, row: Row[Any], step: StatusStep, **details: Any) -> None:
        """Move an effected row to the step of its transfer."""
        if row.step is step or row.step is Finality.FINAL:
            return
        self.move(tx, table, row, _FINALITY_TRIGGERS[step], **details)

    def allows(self, table: Table, row: Row[Any], trigger: Trigger) -> bool:
        """Return True if a trigger leads somewhere from the place of the row as it was read."""
        return (OrderStatus(row.state, row.step), trigger) in _transitions(table)


@lru_cache(maxsize=16)
def _compare_and_set(table: Table) -> Update:
    """Return the statement that moves rows from one state and step to another."""
    columns = table.c
    unchanged = (columns.state == bindparam("state0")) & (columns.step == bindparam("step0"))
    moving = update(table).where(columns.id == bindparam("row"), unchanged)
    return moving.values(state=bindparam("state1"), step=bindparam("step1"))


def _transitions(table: Table) -> Transitions:
    own: Transitions | None = table.info.get(TRANSITIONS_KEY)
    return _TRANSITIONS_BY_TABLE[table.name] if own is None else own


def read(tx: Connection, table: Table, id: str) -> Row[Any]:
    """Return an order, refund or payout by its id. Raises `UnknownRecord`."""
    return _fetch_row(tx, table, id, lock=False)


def locked(tx: Connection, table: Table, id: str) -> Row[Any]:
    """Return a row like `read`, locked until the end of this transaction. Raises `UnknownRecord`."""
    return _fetch_row(tx, table, id, lock=True)


def locked_all(tx: Connection, table: Table, ids: Sequence[str]) -> list[Row[Any]]:
    """Return the existing rows with these ids, ordered by id and locked until the end of this transaction."""
    rows: list[Row[Any]] = []
    ordered = sorted(ids)
    for first in range(0, len(ordered), _CHUNK_SIZE):
        query = select(table).where(table.c.id.in_(ordered[first : first + _CHUNK_SIZE]))
        rows += tx.execute(query.order_by(table.c.id).with_for_update())
    return rows


def _fetch_row(tx: Connection, table: Table, id: str, *, lock: bool) -> Row[Any]:
    query = select(table).where(table.c.id == id)
    row = tx.execute(query.with_for_update() if lock else query).one_or_none() if is_storable(id) else None
    if row is None:
        raise UnknownRecord(f"{table.name}: no row has the id {id if is_storable(id) else ascii(id)}")
    return row
