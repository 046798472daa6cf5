"""Pagination of lists: newest first, with a cursor for the next page."""

from typing import Any

from sqlalchemy import Connection, Row, Select, select

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.fields import TEXT, Field, integer_field
from foreseal.payments.ledger.tables import timeline

MAX_LIMIT = 200
PAGE_FIELDS = (
    Field("limit", integer_field(1, MAX_LIMIT), f"Maximum number of items, at most {MAX_LIMIT}; default 50."),
    Field("cursor", TEXT, "Cursor: `next` of the previous page."),
)
LARGEST_ID = 2**31 - 1
"""Largest id of a numbered row."""
_USUAL = 50


def by_beginning(tx: Connection, table: Any, query: Any, *conditions: Any) -> tuple[list[Row[Any]], str | None]:
    """Return one page of orders, refunds or payouts, newest first, and the cursor of the next page."""
    limit, before = limited(query), parse_cursor(query["cursor"], LARGEST_ID)
    statement: Select[Any] = (
        select(table, timeline.c.id.label("entry_id"))
        .join(timeline, (timeline.c.subject_id == table.c.id) & (timeline.c.subject == table.name))
        .where(timeline.c.before.is_(None), *conditions)
        .order_by(timeline.c.id.desc())
        .limit(limit + 1)
    )
    if before is not None:
        statement = statement.where(timeline.c.id < before[0])
    return _cut(list(tx.execute(statement)), limit, lambda row: str(row.entry_id))


def by_id(tx: Connection, table: Any, query: Any, *conditions: Any) -> tuple[list[Row[Any]], str | None]:
    """Return one page of numbered rows, newest first, and the cursor of the next page."""
    limit, before = limited(query), parse_cursor(query["cursor"], LARGEST_ID)
    statement = select(table).where(*conditions).order_by(table.c.id.desc()).limit(limit + 1)
    if before is not None:
        statement = statement.where(table.c.id < before[0])
    return _cut(list(tx.execute(statement)), limit, lambda row: str(row.id))


def parse_cursor(cursor: str | None, *limits: int) -> tuple[int, ...] | None:
    """Return the numbers in a cursor, each at most its limit. Raises `ApiError` 400 for an invalid cursor."""
    if cursor is None:
        return None
    parts = cursor.split("-")
    digits = all(number.isascii() and number.isdigit() for number in parts)
    if (
        not digits
        or len(parts) != len(limits)
        or any(int(number) > limit for number, limit in zip(parts, limits, strict=True))
    ):
        raise ApiError(400, "invalid_value", f"cursor: {cursor!r} is not a cursor of a page", "cursor")
    return tuple(map(int, parts))


def limited(query: Any) -> int:
    """Return the maximum number of items on the page."""
    return int(query["limit"] or _USUAL)


def _cut(rows: list[Row[Any]], limit: int, cursor: Any) -> tuple[list[Row[Any]], str | None]:
    page = rows[:limit]
    return page, cursor(page[-1]) if len(rows) > limit else None
