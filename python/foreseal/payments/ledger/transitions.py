"""Transitions: compare-and-set of state and step with a timeline entry, in one database transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select, update
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
from foreseal.payments.ledger.timeline import TimelineEntry, record_entry

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

    def follow(self, tx: Connection, table: Table, row: Row[Any], step: StatusStep, **details: Any) -> None:
        """Move an effected row to the step of its transfer."""
        if row.step is step or row.step is Finality.FINAL:
            return
        self.move(tx, table, row, _FINALITY_TRIGGERS[step], **details)

    def allows(self, table: Table, row: Row[Any], trigger: Trigger) -> bool:
        """Return True if a trigger leads somewhere from the place of the row as it was read."""
        return (OrderStatus(row.state, row.step), trigger) in _transitions(table)


def _transitions(table: Table) -> Transitions:
    own: Transitions | None = table.info.get(TRANSITIONS_KEY)
    return _TRANSITIONS_BY_TABLE[table.name] if own is None else own


def read(tx: Connection, table: Table, id: str) -> Row[Any]:
    """Return an order, refund or payout by its id. Raises `UnknownRecord`."""
    return _fetch_row(tx, table, id, lock=False)


def locked(tx: Connection, table: Table, id: str) -> Row[Any]:
    """Return a row like `read`, locked until the end of this transaction. Raises `UnknownRecord`."""
    return _fetch_row(tx, table, id, lock=True)


def _fetch_row(tx: Connection, table: Table, id: str, *, lock: bool) -> Row[Any]:
    query = select(table).where(table.c.id == id)
    row = tx.execute(query.with_for_update() if lock else query).one_or_none() if is_storable(id) else None
    if row is None:
        raise UnknownRecord(f"{table.name}: no row has the id {id if is_storable(id) else ascii(id)}")
    return row
