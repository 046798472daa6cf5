"""Queries whose rows are typed as records, so that mypy rejects a misspelt column.

On a connection, `select(OrderRecord)` returns rows with one attribute for each column of the record, under the same
name. They are read-only tuples, not instances of the class. The casts below are the only place that relies on this.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Select
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")

ColumnValues = Mapping[InstrumentedAttribute[Any], Any]
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


def fetch_pairs(tx: Connection, query: "Select[R, A]") -> Iterator[tuple[R, A]]:
    """Yield each row of a record with the further column that the query selects after it."""
    for row in tx.execute(query):
        yield cast(R, row), row[-1]


def fetch_triples(tx: Connection, query: "Select[R, A, B]") -> Iterator[tuple[R, A, B]]:
    """Yield each row of a record with the two further columns that the query selects after it."""
    for row in tx.execute(query):
        yield cast(R, row), row[-2], row[-1]
