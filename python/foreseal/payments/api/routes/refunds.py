"""Refunds: paid to the sender of the capture's transfer."""

from foreseal.payments.api import views
from foreseal.payments.api.events import list_events
from foreseal.payments.api.fields import AMOUNT, ID, Field, choice_field
from foreseal.payments.api.pagination import PAGE_FIELDS, by_beginning
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import JsonReply, Route, RouteCall
from foreseal.payments.api.routes.orders import ORDER_ID
from foreseal.payments.ledger import DisbursementState, read
from foreseal.payments.ledger.models import Purpose, RefundRecord

STATE = Field("state", choice_field([state.value for state in DisbursementState]), "Filter by state.")

_REFUND_ID = Field("id", ID, "The refund.", required=True)


def _refund(call: RouteCall) -> JsonReply:
    id = call.body["id"] or call.required_claim.id("ref")
    # The same id means the same refund, so a repeat is safe.
    call.backend.refunds.refund(id, call.path["id"], call.body["amount"])
    return JsonReply(_detail(call, id), 201)


def _get(call: RouteCall) -> JsonReply:
    return JsonReply(_detail(call, call.path["id"]))


def _detail(call: RouteCall, id: str) -> views.JsonView:
    with call.backend.database.reading() as tx:
        row = read(tx, RefundRecord, id)
        return {"refund": call.views.refund(row), "transactions": views.list_transactions(tx, id, Purpose.REFUND)}


def _list(call: RouteCall) -> JsonReply:
    conditions = []
    if call.query["state"] is not None:
        conditions.append(RefundRecord.state == DisbursementState(call.query["state"]))
    if call.query["order"] is not None:
        conditions.append(RefundRecord.order_id == call.query["order"])
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, RefundRecord, call.query, *conditions)
    return JsonReply({"items": [call.views.refund(row) for row in rows], "next": following})


def _timeline(call: RouteCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        read(tx, RefundRecord, call.path["id"])
        return JsonReply({"items": list_events(tx, call.views, RefundRecord, call.path["id"])})


ROUTES = (
    Route(
        "POST",
        "/v1/orders/{id}/refunds",
        "Refund a part of a capture, or all of it, to the sender of its transfer",
        _refund,
        {201: "RefundDetail"},
        Role.REFUNDER,
        path_fields=(ORDER_ID,),
        body=(
            Field("id", ID, "Id of the refund; derived from the Idempotency-Key by default."),
            Field("amount", AMOUNT, "Smallest units, as a text.", required=True),
        ),
    ),
    Route(
        "GET",
        "/v1/refunds",
        "List refunds, the newest first",
        _list,
        {200: "RefundPage"},
        query=(STATE, Field("order", ID, "Only of this order."), *PAGE_FIELDS),
    ),
    Route("GET", "/v1/refunds/{id}", "One refund", _get, {200: "RefundDetail"}, path_fields=(_REFUND_ID,)),
    Route(
        "GET",
        "/v1/refunds/{id}/timeline",
        "Return the timeline of a refund, oldest first",
        _timeline,
        {200: "Timeline"},
        path_fields=(_REFUND_ID,),
    ),
)
