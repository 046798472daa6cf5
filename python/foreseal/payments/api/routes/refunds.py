"""Refunds: paid to the sender of the capture's transfer."""

from foreseal.payments.api import views
from foreseal.payments.api.fields import AMOUNT, ID, Field, one_of
from foreseal.payments.api.pagination import PAGE, by_beginning
from foreseal.payments.api.route import Call, Reply, Route
from foreseal.payments.api.routes.orders import ORDER_ID
from foreseal.payments.api.tables import Role
from foreseal.payments.ledger import DisbursementState, read
from foreseal.payments.ledger.tables import Purpose, refunds

STATE = Field("state", one_of([state.value for state in DisbursementState]), "Only of this state.")

_REFUND_ID = Field("id", ID, "The refund.", required=True)


def _refund(call: Call) -> Reply:
    id = call.body["id"] or call.mine.id("ref")
    # The same id means the same refund, so a repeat is safe.
    call.backend.refunds.refund(id, call.path["id"], call.body["amount"])
    return Reply(_detail(call, id), 201)


def _get(call: Call) -> Reply:
    return Reply(_detail(call, call.path["id"]))


def _detail(call: Call, id: str) -> views.Json:
    with call.backend.database.reading() as tx:
        row = read(tx, refunds, id)
        return {"refund": call.views.refund(row), "transactions": views.transactions_of(tx, id, Purpose.REFUND)}


def _list(call: Call) -> Reply:
    wanted = []
    if call.query["state"] is not None:
        wanted.append(refunds.c.state == DisbursementState(call.query["state"]))
    if call.query["order"] is not None:
        wanted.append(refunds.c.order_id == call.query["order"])
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, refunds, call.query, *wanted)
    return Reply({"items": [call.views.refund(row) for row in rows], "next": following})


def _timeline(call: Call) -> Reply:
    with call.backend.database.reading() as tx:
        read(tx, refunds, call.path["id"])
        return Reply({"items": views.events_of(tx, refunds, call.path["id"])})


ROUTES = (
    Route(
        "POST",
        "/v1/orders/{id}/refunds",
        "Refund a part of a capture, or all of it, to the sender of its transfer",
        _refund,
        {201: "RefundDetail"},
        Role.REFUNDER,
        parts=(ORDER_ID,),
        body=(
            Field("id", ID, "Its id; made from the Idempotency-Key if none is given."),
            Field("amount", AMOUNT, "Smallest units, as a text.", required=True),
        ),
    ),
    Route(
        "GET",
        "/v1/refunds",
        "List refunds, the newest first",
        _list,
        {200: "RefundPage"},
        query=(STATE, Field("order", ID, "Only of this order."), *PAGE),
    ),
    Route("GET", "/v1/refunds/{id}", "One refund", _get, {200: "RefundDetail"}, parts=(_REFUND_ID,)),
    Route(
        "GET",
        "/v1/refunds/{id}/timeline",
        "What happened to a refund, oldest first",
        _timeline,
        {200: "Timeline"},
        parts=(_REFUND_ID,),
    ),
)
