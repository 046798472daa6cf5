"""Payouts: many recipients in one transaction, by amounts or by shares of a sum."""

from collections.abc import Sequence

from foreseal.payments.api import views
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.events import list_events
from foreseal.payments.api.fields import ADDRESS, AMOUNT, BYTES32, Field, integer_field, list_field
from foreseal.payments.api.pagination import PAGE_FIELDS, by_beginning
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import JsonReply, Route, RouteCall
from foreseal.payments.api.routes.refunds import STATE
from foreseal.payments.disbursements.payouts import BASIS_POINTS, MAX_RECIPIENTS, split
from foreseal.payments.ledger import DisbursementState, read
from foreseal.payments.ledger.models import PayoutRecord, Purpose
from foreseal.payments.typed_data import bytes32

_PAYOUT_ID = Field("id", BYTES32, "Reference of the payout.", required=True)
_REFERENCE = Field(
    "reference", BYTES32, "32 bytes that the contract accepts once; derived from the Idempotency-Key by default."
)


def _pay(call: RouteCall) -> JsonReply:
    return _send(call, [(recipient["recipient"], recipient["amount"]) for recipient in call.body["recipients"]])


def _split(call: RouteCall) -> JsonReply:
    shares, index = call.body["shares"], call.body["remainder"] or 0
    try:
        amounts = split(call.body["total"], [share["basis_points"] for share in shares], index)
    except ValueError as error:
        raise ApiError(400, "invalid_value", str(error), str(error).partition(":")[0]) from error
    legs = [(share["recipient"], amount) for share, amount in zip(shares, amounts, strict=True)]
    return _send(call, [leg for leg in legs if leg[1]])


def _send(call: RouteCall, legs: Sequence[tuple[str, int]]) -> JsonReply:
    contract = call.backend.configuration.serve.payouts
    if contract is None:
        raise ApiError(409, "payouts_not_configured", "the configuration has no serve.payouts contract")
    reference = call.body["reference"] or _reference(call)
    try:
        id = call.backend.payouts.prepare(reference, contract, legs)
    except ValueError as error:
        raise ApiError(400, "invalid_value", str(error), str(error).partition(":")[0]) from error
    # The same reference means the same batch, so a repeat is safe.
    call.backend.payouts.advance(id)
    return JsonReply(_detail(call, id), 201)


def _reference(call: RouteCall) -> bytes:
    return bytes32(call.required_claim.id("pay").removeprefix("pay_") * 2, "reference")


def _get(call: RouteCall) -> JsonReply:
    return JsonReply(_detail(call, _id(call)))


def _detail(call: RouteCall, id: str) -> views.JsonView:
    with call.backend.database.reading() as tx:
        (shown,) = call.views.payouts(tx, [read(tx, PayoutRecord, id)])
        return {"payout": shown, "transactions": views.list_transactions(tx, id, Purpose.PAYOUT)}


def _list(call: RouteCall) -> JsonReply:
    state = call.query["state"]
    conditions = [] if state is None else [PayoutRecord.state == DisbursementState(state)]
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, PayoutRecord, call.query, *conditions)
        return JsonReply({"items": call.views.payouts(tx, rows), "next": following})


def _timeline(call: RouteCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        read(tx, PayoutRecord, _id(call))
        return JsonReply({"items": list_events(tx, call.views, PayoutRecord, _id(call))})


def _id(call: RouteCall) -> str:
    return f"0x{call.path['id'].hex()}"


_RECIPIENT = Field("recipient", ADDRESS, "Account of the recipient.", required=True)

ROUTES = (
    Route(
        "POST",
        "/v1/payouts",
        "Pay up to 100 recipients in one transaction",
        _pay,
        {201: "PayoutDetail"},
        Role.ADMIN,
        body=(
            _REFERENCE,
            Field(
                "recipients",
                list_field(
                    (_RECIPIENT, Field("amount", AMOUNT, "Amount in smallest units.", required=True)), MAX_RECIPIENTS
                ),
                "Recipients and amounts.",
                required=True,
            ),
        ),
    ),
    Route(
        "POST",
        "/v1/splits",
        "Divide a sum by shares and pay it out",
        _split,
        {201: "PayoutDetail"},
        Role.ADMIN,
        body=(
            _REFERENCE,
            Field("total", AMOUNT, "Amount in smallest units.", required=True),
            Field(
                "shares",
                list_field(
                    (
                        _RECIPIENT,
                        Field("basis_points", integer_field(0, BASIS_POINTS), "Share in basis points.", required=True),
                    ),
                    MAX_RECIPIENTS,
                ),
                "Shares in basis points; their sum is 10,000.",
                required=True,
            ),
            Field(
                "remainder",
                integer_field(0, MAX_RECIPIENTS - 1),
                "Index of the share that receives the remainder; default 0.",
            ),
        ),
    ),
    Route("GET", "/v1/payouts", "List payouts, newest first", _list, {200: "PayoutPage"}, query=(STATE, *PAGE_FIELDS)),
    Route("GET", "/v1/payouts/{id}", "Return a payout", _get, {200: "PayoutDetail"}, path_fields=(_PAYOUT_ID,)),
    Route(
        "GET",
        "/v1/payouts/{id}/timeline",
        "Return the timeline of a payout, oldest first",
        _timeline,
        {200: "Timeline"},
        path_fields=(_PAYOUT_ID,),
    ),
)
