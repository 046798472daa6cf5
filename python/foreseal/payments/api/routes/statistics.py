"""Statistics of orders by day, for charts. The cost of a request is bounded: it reads a limited number of orders."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import ColumnElement, Connection, Select, func, select, type_coerce

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.responses import StatisticsView
from foreseal.payments.api.route import JsonReply, QueryCall, Route
from foreseal.payments.api.value_types import Digits, Time
from foreseal.payments.ledger import DisbursementState, OrderState
from foreseal.payments.ledger.amount_sums import join_sum, sum_columns
from foreseal.payments.ledger.columns import Units
from foreseal.payments.ledger.models import OrderRecord, RefundRecord

DAY = 86_400
MAX_DAYS = 366
"""Maximum number of days of a request."""
MAX_ORDERS = 200_000
"""Maximum number of orders that a request reads, newest first."""

_DEFAULT_DAYS = 30
_FAILED = (OrderState.VOIDED, OrderState.CANCELED, OrderState.EXPIRED)


class StatisticsQuery(RequestModel):
    """Range of creation times."""

    created_from: Annotated[Time, Digits] | None = Field(
        default=None, description="Only orders created at or after this Unix time; default 30 days before the end."
    )
    created_before: Annotated[Time, Digits] | None = Field(
        default=None, description="Only orders created before this Unix time; default now."
    )


@dataclass(slots=True)
class _Day:
    """Sums of one token on one day."""

    orders: int = 0
    captured: int = 0
    failed: int = 0
    volume: int = 0
    refunded: int = 0


def _statistics(call: QueryCall[StatisticsQuery]) -> JsonReply:
    now = int(call.backend.clock())
    before = now + 1 if call.query.created_before is None else call.query.created_before
    first = max(0, before - _DEFAULT_DAYS * DAY) if call.query.created_from is None else call.query.created_from
    if before <= first or before - first > MAX_DAYS * DAY:
        message = f"created_from: must be before created_before, by at most {MAX_DAYS} days"
        raise ApiError(400, "invalid_value", message, "created_from")
    in_range = (OrderRecord.created >= first) & (OrderRecord.created < before)
    with call.backend.database.reading() as tx:
        skipped = select(OrderRecord.created).where(in_range).order_by(OrderRecord.created.desc())
        oldest = tx.execute(skipped.offset(MAX_ORDERS).limit(1)).scalar_one_or_none()
        # Orders of the second at which the limit is reached are all left out.
        complete_from = first if oldest is None else oldest + 1
        days = _read_days(tx, in_range & (OrderRecord.created >= complete_from))
    return JsonReply(
        {
            "created_from": complete_from,
            "created_before": before,
            "complete": oldest is None,
            "items": [
                {
                    "day": day * DAY,
                    "token": token,
                    "symbol": None if (label := call.views.labels.token(token)) is None else label.symbol,
                    "orders": sums.orders,
                    "captured": sums.captured,
                    "failed": sums.failed,
                    "volume": call.views.money(sums.volume, token),
                    "refunded": call.views.money(sums.refunded, token),
                }
                for (day, token), sums in sorted(days.items())
            ],
        }
    )


def _read_days(tx: Connection, condition: ColumnElement[bool]) -> dict[tuple[int, str], _Day]:
    """Return the sums by day and token."""
    day = (OrderRecord.created // DAY).label("day")
    sums = list(sum_columns(tx, func.coalesce(OrderRecord.actual, OrderRecord.amount, type_=Units())))
    query: Select[Any] = (
        select(day, OrderRecord.token, OrderRecord.state, func.count(), *sums)
        .where(condition)
        .group_by(day, OrderRecord.token, OrderRecord.state)
    )
    days: dict[tuple[int, str], _Day] = {}
    for number, token, state, count, *limbs in tx.execute(query):
        day_sums = days.setdefault((int(number), token), _Day())
        day_sums.orders += count
        if state is OrderState.CAPTURED:
            day_sums.captured += count
            day_sums.volume += join_sum(limbs)
        elif state in _FAILED:
            day_sums.failed += count
    refunds: list[ColumnElement[Any]] = list(sum_columns(tx, type_coerce(RefundRecord.amount, Units())))
    returned: Select[Any] = (
        select(day, OrderRecord.token, *refunds)
        .join(RefundRecord, RefundRecord.order_id == OrderRecord.id)
        .where(condition, RefundRecord.state != DisbursementState.BLOCKED)
        .group_by(day, OrderRecord.token)
    )
    for number, token, *limbs in tx.execute(returned):
        days[int(number), token].refunded = join_sum(limbs)
    return days


ROUTES = (
    Route(
        "GET",
        "/v1/statistics",
        "Return numbers and volume of orders by day of their creation (UTC) and token",
        _statistics,
        {200: StatisticsView},
    ),
)
