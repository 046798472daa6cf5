"""Pagination of lists: newest first, with a cursor for the next page."""

from typing import Annotated, TypeVar

from pydantic import Field
from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy.orm import InstrumentedAttribute

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.models import DeliveryRecord
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.value_types import LARGEST_ID, Digits, ShortText, Time
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import fetch_all, fetch_pairs
from foreseal.payments.ledger.record import StatefulRecord

S = TypeVar("S", bound=StatefulRecord)

MAX_LIMIT = 200


class PageQuery(RequestModel):
    """Query of a list; lists with filters extend it."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), Digits] = Field(
        default=50, description=f"Maximum number of items, at most {MAX_LIMIT}."
    )
    cursor: ShortText | None = Field(default=None, description="Cursor: `next` of the previous page.")


class TimelineQuery(PageQuery):
    """Query of a timeline, whose pages begin with the oldest entry."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), Digits] = Field(
        default=MAX_LIMIT, description=f"Maximum number of items, at most {MAX_LIMIT}."
    )


class CreatedQuery(PageQuery):
    """Query of a list that can be limited to a range of creation times."""

    created_from: Annotated[Time, Digits] | None = Field(
        default=None, description="Only created at or after this Unix time in seconds."
    )
    created_before: Annotated[Time, Digits] | None = Field(
        default=None, description="Only created before this Unix time in seconds."
    )

    def created(self, column: InstrumentedAttribute[int]) -> list[ColumnElement[bool]]:
        """Return the conditions on the column of the creation time."""
        conditions: list[ColumnElement[bool]] = []
        if self.created_from is not None:
            conditions.append(column >= self.created_from)
        if self.created_before is not None:
            conditions.append(column < self.created_before)
        return conditions


def by_beginning(
    tx: Connection, model: type[S], query: PageQuery, *conditions: ColumnElement[bool]
) -> tuple[list[S], str | None]:
    """Return one page of orders, refunds or payouts, newest first, and the cursor of the next page.

    Conditions may name columns of the row and of its first timeline entry.
    """
    before = parse_cursor(query.cursor, LARGEST_ID)
    entry = (TimelineRecord.subject_id == model.id) & (TimelineRecord.subject == model.__tablename__)
    statement = (
        select(model, TimelineRecord.id.label("entry_id"))
        .join(TimelineRecord, entry)
        .where(TimelineRecord.before.is_(None), *conditions)
        .order_by(TimelineRecord.id.desc())
        .limit(query.limit + 1)
    )
    if before is not None:
        statement = statement.where(TimelineRecord.id < before[0])
    pairs = list(fetch_pairs(tx, statement))
    return [row for row, _ in pairs[: query.limit]], str(pairs[query.limit - 1][1]) if len(
        pairs
    ) > query.limit else None


def by_id(
    tx: Connection, model: type[DeliveryRecord], query: PageQuery, *conditions: ColumnElement[bool]
) -> tuple[list[DeliveryRecord], str | None]:
    """Return one page of numbered rows, newest first, and the cursor of the next page."""
    before = parse_cursor(query.cursor, LARGEST_ID)
    statement = select(model).where(*conditions).order_by(model.id.desc()).limit(query.limit + 1)
    if before is not None:
        statement = statement.where(model.id < before[0])
    rows = fetch_all(tx, statement)
    return rows[: query.limit], str(rows[query.limit - 1].id) if len(rows) > query.limit else None


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
