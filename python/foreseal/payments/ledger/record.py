"""Base classes of the records: one class per table, whose attributes are named as the columns.

Statements run on connections, not on sessions, so no instance of a record exists at run time. `queries` returns rows
typed as records.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy.orm import DeclarativeBase, Mapped

from foreseal.payments.ledger.states import LedgerState, StatusStep, Transitions


class Record(DeclarativeBase):
    """Base class of all records."""


class StatefulRecord(Record):
    """Base class of records with an id, a state and a step, which only the transitions of the table change."""

    __abstract__ = True

    transitions: ClassVar[Transitions[Any]]
    """All transitions of the state."""

    if TYPE_CHECKING:  # each record defines the columns with its own types
        id: Mapped[str]
        state: Mapped[LedgerState]
        step: Mapped[StatusStep]
