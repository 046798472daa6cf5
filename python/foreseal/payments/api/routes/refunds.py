"""Refunds: paid to the sender of the capture's transfer."""

from pydantic import Field

from foreseal.payments.api import views
from foreseal.payments.api.events import list_events
from foreseal.payments.api.pagination import CreatedQuery, TimelineQuery, by_beginning
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.responses import RefundDetail, RefundPage, Timeline
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, JsonReply, PathCall, QueryCall, Route, RouteCall
from foreseal.payments.api.routes.order_requests import OrderPath
from foreseal.payments.api.value_types import Amount, ObjectId, Selected
from foreseal.payments.ledger import DisbursementState, read
from foreseal.payments.ledger.models import Purpose, RefundRecord, TimelineRecord


class RefundPath(RequestModel):
    """Path of a refund."""

    id: ObjectId = Field(description="The refund.")


class NewRefund(RequestModel):
    """A refund of a part of a capture, or all of it."""

    id: ObjectId | None = Field(
        default=None, description="Id of the refund; derived from the Idempotency-Key by default."
    )
    amount: Amount | None = Field(
        default=None, description="Amount in smallest units, as a string; by default all that is not refunded yet."
    )


class DisbursementsQuery(CreatedQuery):
    """Filters of refunds or payouts."""

    state: Selected[DisbursementState] | None = Field(default=None, description="Filter by state.")


class RefundsQuery(DisbursementsQuery):
    """Filters of refunds."""

    order: ObjectId | None = Field(default=None, description="Only of this order.")


def _refund(call: RouteCall[OrderPath, NoFields, NewRefund]) -> JsonReply:
    id = call.body.id or call.required_claim.id("ref")
    # The same id means the same refund, so a repeat is safe.
    call.backend.order_destination(call.path.id).refunds.refund(id, call.path.id, call.body.amount)
    return JsonReply(_detail(call, id), 201)


def _get(call: PathCall[RefundPath]) -> JsonReply:
    return JsonReply(_detail(call, call.path.id))


def _detail(call: AnyCall, id: str) -> RefundDetail:
    with call.backend.database.reading() as tx:
        (shown,) = call.views.refunds(tx, [read(tx, RefundRecord, id)])
        transactions = views.list_transactions(tx, {id: [id]}, Purpose.REFUND)[id]
        return {"refund": shown, "transactions": transactions}


def _list(call: QueryCall[RefundsQuery]) -> JsonReply:
    conditions = call.query.created(TimelineRecord.time)
    if call.query.state is not None:
        conditions.append(RefundRecord.state == call.query.state)
    if call.query.order is not None:
        conditions.append(RefundRecord.order_id == call.query.order)
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, RefundRecord, call.query, *conditions)
        return JsonReply({"items": call.views.refunds(tx, rows), "next": following})


def _timeline(call: RouteCall[RefundPath, TimelineQuery, NoFields]) -> JsonReply:
    with call.backend.database.reading() as tx:
        read(tx, RefundRecord, call.path.id)
        return JsonReply(list_events(tx, call.views, RefundRecord, call.path.id, call.query))


ROUTES = (
    Route(
        "POST",
        "/v1/orders/{id}/refunds",
        "Refund a part of a capture, or all of it, to the sender of its transfer",
        _refund,
        {201: RefundDetail},
        Role.REFUNDER,
    ),
    Route("GET", "/v1/refunds", "List refunds, newest first", _list, {200: RefundPage}),
    Route("GET", "/v1/refunds/{id}", "Return a refund", _get, {200: RefundDetail}),
    Route(
        "GET", "/v1/refunds/{id}/timeline", "Return the timeline of a refund, oldest first", _timeline, {200: Timeline}
    ),
)
