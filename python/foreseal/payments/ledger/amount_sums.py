"""Exact sums of amounts by the database, which also SQLite computes for numbers with more than 64 bits."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, String, cast, func, type_coerce

# Decimal digits of a limb of an amount, and limbs. The sum of a limb over all rows fits in 64 bits.
_LIMB, _LIMBS, _DIGITS = 12, 7, 78


def sum_columns(tx: Connection, amount: ColumnElement[Any]) -> Iterator[ColumnElement[Any]]:
    """Yield columns with the sum of an amount: one, or on SQLite one for each limb of its digits."""
    if tx.dialect.name == "postgresql":
        yield cast(func.sum(amount), String)
        return
    digits = type_coerce(amount, String)
    for limb in range(_LIMBS):
        last = _DIGITS - limb * _LIMB
        start = max(1, last - _LIMB + 1)
        yield func.sum(cast(func.substr(digits, start, last - start + 1), BigInteger))


def join_sum(columns: Sequence[Any]) -> int:
    """Return the sum from the values of its columns."""
    return sum(int(value) * 10 ** (_LIMB * number) for number, value in enumerate(columns))
