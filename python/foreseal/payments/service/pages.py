"""Pages of lists: newest first, with a cursor that says where the next one begins."""

from typing import Any

from sqlalchemy import Connection, Row, Select, select

from foreseal.payments.ledger.tables import timeline
from foreseal.payments.service.errors import ApiError
from foreseal.payments.service.fields import TEXT, Field, whole

MOST = 200
PAGE = (
    Field("limit", whole(1, MOST), f"Most items of the page, {MOST} at most; 50 if it is not given."),
    Field("cursor", TEXT, "Where to go on: `next` of the page before."),
)
_USUAL = 50


def by_beginning(tx: Connection, table: Any, query: Any, *conditions: Any) -> tuple[list[Row[Any]], str | None]:
    """One page of orders, refunds or payouts, those that began last first, and the cursor of the next page."""
    limit, before = _asked(query)
    wanted: Select[Any] = (
        select(table, timeline.c.id.label("entry_id"))
        .join(timeline, (timeline.c.subject_id == table.c.id) & (timeline.c.subject == table.name))
        .where(timeline.c.before.is_(None), *conditions)
        .order_by(timeline.c.id.desc())
        .limit(limit + 1)
    )
    if before is not None:
        wanted = wanted.where(timeline.c.id < before)
    return _cut(list(tx.execute(wanted)), limit, lambda row: str(row.entry_id))


def by_id(tx: Connection, table: Any, query: Any, *conditions: Any) -> tuple[list[Row[Any]], str | None]:
    """One page of rows that are numbered, newest first."""
    limit, before = _asked(query)
    wanted = select(table).where(*conditions).order_by(table.c.id.desc()).limit(limit + 1)
    if before is not None:
        wanted = wanted.where(table.c.id < before)
    return _cut(list(tx.execute(wanted)), limit, lambda row: str(row.id))


def _asked(query: Any) -> tuple[int, int | None]:
    cursor = query["cursor"]
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise wrong_cursor(cursor)
    return limited(query), None if cursor is None else int(cursor)


def limited(query: Any) -> int:
    """How many items a page may have."""
    return int(query["limit"] or _USUAL)


def wrong_cursor(cursor: str) -> ApiError:
    """What is said of a cursor that no page had."""
    return ApiError(400, "wrong_value", f"cursor: {cursor!r} is none that a page had", "cursor")


def _cut(rows: list[Row[Any]], limit: int, cursor: Any) -> tuple[list[Row[Any]], str | None]:
    page = rows[:limit]
    return page, cursor(page[-1]) if len(rows) > limit else None
