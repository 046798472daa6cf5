"""Transitions: compare-and-set of state and step with a timeline entry, in one database transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.crash_points import OnCrashPoint, ignore_crash_point
from foreseal.payments.ledger.database import Database
from foreseal.payments.ledger.errors import ConcurrentUpdate, DuplicateRecord, UnknownRecord
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.ledger.queries import ColumnValues, fetch_one_or_none
from foreseal.payments.ledger.record import StatefulRecord
from foreseal.payments.ledger.states import Finality, OrderStatus, StatusStep, Trigger, next_status
from foreseal.payments.ledger.timeline import TimelineEntry, record_entry

S = TypeVar("S", bound=StatefulRecord)

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

    def create(self, tx: Connection, model: type[StatefulRecord], trigger: Trigger, values: ColumnValues) -> None:
        """Insert the row that a trigger creates.

        Raises `DuplicateRecord`, which ends the transaction, if its id or another unique key already exists.
        """
        status = next_status(model.transitions, None, trigger)
        name, id = model.__tablename__, values[model.id]
        try:
            tx.execute(insert(model).values({**values, model.state: status.state, model.step: status.step}))
        except IntegrityError as error:
            raise DuplicateRecord(f"{name}: {id} or another of its keys already exists") from error
        record_entry(tx, TimelineEntry(name, id, self.clock(), trigger, None, str(status), {}))

    def move(self, tx: Connection, model: type[S], row: S, trigger: Trigger, **details: Any) -> S:
        """Apply a trigger to the row as it was read. Return the updated row.

        Raises `TransitionNotAllowed` if the table has no such transition, `ConcurrentUpdate` if the row has changed.
        `details` are JSON for the timeline.
        """
        before = OrderStatus(row.state, row.step)
        after = next_status(model.transitions, before, trigger)
        same = (model.id == row.id) & (model.state == before.state) & (model.step == before.step)
        changing = update(model).where(same).values({model.state: after.state, model.step: after.step})
        moved = fetch_one_or_none(tx, changing.returning(model))
        name = model.__tablename__
        if moved is None:
            raise ConcurrentUpdate(f"{name}: {row.id} is no longer {before}")
        record_entry(tx, TimelineEntry(name, row.id, self.clock(), trigger, str(before), str(after), details))
        return moved

    def follow(self, tx: Connection, model: type[S], row: S, step: StatusStep, **details: Any) -> None:
        """Move an effected row to the step of its transfer."""
        if row.step is step or row.step is Finality.FINAL:
            return
        self.move(tx, model, row, _FINALITY_TRIGGERS[step], **details)

    def allows(self, model: type[S], row: S, trigger: Trigger) -> bool:
        """Return True if a trigger leads somewhere from the status of the row as it was read."""
        return (OrderStatus(row.state, row.step), trigger) in model.transitions


def read(tx: Connection, model: type[S], id: str) -> S:
    """Return an order, refund or payout by its id. Raises `UnknownRecord`."""
    return _fetch_row(tx, model, id, lock=False)


def locked(tx: Connection, model: type[S], id: str) -> S:
    """Return a row like `read`, locked until the end of this transaction. Raises `UnknownRecord`."""
    return _fetch_row(tx, model, id, lock=True)


def _fetch_row(tx: Connection, model: type[S], id: str, *, lock: bool) -> S:
    query = select(model).where(model.id == id)
    row = fetch_one_or_none(tx, query.with_for_update() if lock else query) if is_storable(id) else None
    if row is None:
        raise UnknownRecord(f"{model.__tablename__}: no row has the id {id if is_storable(id) else ascii(id)}")
    return row
