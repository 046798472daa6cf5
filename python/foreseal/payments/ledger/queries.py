"""Queries whose rows are typed as records, so that mypy rejects a misspelled column.

On a connection, `select(OrderRecord)` returns rows with one attribute for each column of the record, under the same
name. They are read-only tuples, not instances of the class. The casts below are the only place that relies on this.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Insert, Select, Update, bindparam, insert, update
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from foreseal.payments.ledger.record import Record

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")

# Values per query.
_CHUNK_SIZE = 500

Column = InstrumentedAttribute[Any]
ColumnValues = Mapping[Column, Any]
"""Values to write, by column."""


def fetch_one(tx: Connection, query: "Select[R] | ReturningInsert[R] | ReturningUpdate[R]") -> R:
    """Return the only row. Raises `NoResultFound` and `MultipleResultsFound`."""
    return cast(R, tx.execute(query).one())


def fetch_one_or_none(tx: Connection, query: "Select[R] | ReturningInsert[R] | ReturningUpdate[R]") -> R | None:
    """Return the only row, or None. Raises `MultipleResultsFound`."""
    return cast("R | None", tx.execute(query).one_or_none())


def fetch_all(tx: Connection, query: "Select[R]") -> list[R]:
    """Return all rows."""
    return cast("list[R]", list(tx.execute(query)))


def fetch_each(tx: Connection, query: "Select[R]") -> Iterator[R]:
    """Yield the rows one by one."""
    return cast("Iterator[R]", iter(tx.execute(query)))


def insert_all(tx: Connection, model: type[Record], rows: Sequence[ColumnValues]) -> None:
    """Insert rows of one table. All rows write the same columns."""
    if rows:
        tx.execute(_insert(model), [{column.key: value for column, value in row.items()} for row in rows])


def insert_all_returning(tx: Connection, column: InstrumentedAttribute[A], rows: Sequence[ColumnValues]) -> list[A]:
    """Insert rows of a column's table. Return the column of each, in the order of `rows`."""
    inserting = insert(column.class_).returning(column, sort_by_parameter_order=True)
    values = [{written.key: value for written, value in row.items()} for row in rows]
    return list(tx.execute(inserting, values).scalars()) if values else []


def update_all(tx: Connection, model: type[Record], rows: Sequence[tuple[ColumnValues, ColumnValues]]) -> int:
    """Update rows of one table. Return the number of rows that changed.

    Each item has the columns that select one row with their values, and the columns to write with theirs. All items
    name the same columns.
    """
    if not rows:
        return 0
    selecting, writing = rows[0]
    statement = _update(model, tuple(selecting), tuple(writing))
    parameters = [
        {f"old_{column.key}": value for column, value in old.items()}
        | {f"new_{column.key}": value for column, value in new.items()}
        for old, new in rows
    ]
    return tx.execute(statement, parameters).rowcount


# Building a statement costs more than executing it on a few rows.
@lru_cache(maxsize=64)
def _insert(model: type[Record]) -> Insert:
    return insert(model)


@lru_cache(maxsize=64)
def _update(model: type[Record], selecting: tuple[Column, ...], writing: tuple[Column, ...]) -> Update:
    conditions = [column == bindparam(f"old_{column.key}") for column in selecting]
    return update(model).where(*conditions).values({column: bindparam(f"new_{column.key}") for column in writing})


def chunks(values: Sequence[A]) -> Iterator[Sequence[A]]:
    """Split the values of a query's IN clause; databases limit their number."""
    for first in range(0, len(values), _CHUNK_SIZE):
        yield values[first : first + _CHUNK_SIZE]


def fetch_pairs(tx: Connection, query: "Select[R, A]") -> Iterator[tuple[R, A]]:
    """Yield each row of a record with the further column that the query selects after it."""
    for row in tx.execute(query):
        yield cast(R, row), row[-1]


def fetch_triples(tx: Connection, query: "Select[R, A, B]") -> Iterator[tuple[R, A, B]]:
    """Yield each row of a record with the two further columns that the query selects after it."""
    for row in tx.execute(query):
        yield cast(R, row), row[-2], row[-1]
