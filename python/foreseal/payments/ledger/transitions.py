"""Transitions: a compare-and-set of state and step, with its entry in the timeline, in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.crash_points import Passed, unwatched
from foreseal.payments.ledger.database import Database
from foreseal.payments.ledger.errors import Duplicate, Overtaken, Unknown
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.ledger.states import DISBURSEMENT, ORDER, Place, Step, Transitions, Trigger, following
from foreseal.payments.ledger.tables import orders, payouts, refunds
from foreseal.payments.ledger.timeline import Entry, note

_TRANSITIONS: dict[str, Transitions] = {
    orders.name: ORDER,
    refunds.name: DISBURSEMENT,
    payouts.name: DISBURSEMENT,
}
_DEEPER = {
    Step.PROVISIONAL: Trigger.DEMOTE,
    Step.CONFIRMED: Trigger.CONFIRM,
    Step.FINAL: Trigger.FINALIZE,
}
TRANSITIONS = "transitions"
"""Key of a table's `info` under which a part of its own has its transitions."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The database, and what every change of it needs."""

    database: Database
    clock: Callable[[], int]
    """Seconds since 1970, for the timeline, leases and days: the chain's deadlines are compared with its blocks."""
    passed: Passed = unwatched

    def create(self, tx: Connection, table: Table, trigger: Trigger, **values: Any) -> None:
        """Insert what a trigger brings into being. Raises `Duplicate`, which ends the transaction, if its id or another
        key is taken."""
        place = following(_transitions(table), None, trigger)
        try:
            tx.execute(insert(table).values(**values, state=place.state, step=place.step))
        except IntegrityError as error:
            raise Duplicate(f"{table.name}: {values['id']} or another key of it is taken") from error
        note(tx, Entry(table.name, values["id"], self.clock(), trigger, None, str(place), {}))

    def move(self, tx: Connection, table: Table, row: Row[Any], trigger: Trigger, **details: Any) -> Row[Any]:
        """Move the thing that was read as `row` on; it as it is then.

        Raises `NotAllowed` if the trigger leads nowhere from there, `Overtaken` if it is no longer there. `details`
        are JSON for the timeline.
        """
        before = Place(row.state, row.step)
        after = following(_transitions(table), before, trigger)
        same = (table.c.id == row.id) & (table.c.state == before.state) & (table.c.step == before.step)
        changing = update(table).where(same).values(state=after.state, step=after.step)
        moved = tx.execute(changing.returning(table)).one_or_none()
        if moved is None:
            raise Overtaken(f"{table.name}: {row.id} is no longer {before}")
        note(tx, Entry(table.name, row.id, self.clock(), trigger, str(before), str(after), details))
        return moved

    def follow(self, tx: Connection, table: Table, row: Row[Any], step: Step, **details: Any) -> None:
        """Bring what was effected to the step at which its transfer is."""
        if row.step is step or row.step is Step.FINAL:
            return
        self.move(tx, table, row, _DEEPER[step], **details)

    def allows(self, table: Table, row: Row[Any], trigger: Trigger) -> bool:
        """Whether a trigger leads anywhere from where a thing was when it was read."""
        return (Place(row.state, row.step), trigger) in _transitions(table)


def _transitions(table: Table) -> Transitions:
    own: Transitions | None = table.info.get(TRANSITIONS)
    return _TRANSITIONS[table.name] if own is None else own


def read(tx: Connection, table: Table, id: str) -> Row[Any]:
    """An order, refund or payout by its id. Raises `Unknown`."""
    return _one(tx, table, id, lock=False)


def locked(tx: Connection, table: Table, id: str) -> Row[Any]:
    """As `read`, and nobody else changes it before this transaction ends. Raises `Unknown`."""
    return _one(tx, table, id, lock=True)


def _one(tx: Connection, table: Table, id: str, *, lock: bool) -> Row[Any]:
    wanted = select(table).where(table.c.id == id)
    row = tx.execute(wanted.with_for_update() if lock else wanted).one_or_none() if is_storable(id) else None
    if row is None:
        raise Unknown(f"{table.name}: there is no {id if is_storable(id) else ascii(id)}")
    return row
