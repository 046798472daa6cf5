"""Payouts: many recipients in one transaction, by amounts or by shares of a sum."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from foreseal.payments.api import views
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.events import list_events
from foreseal.payments.api.pagination import TimelineQuery, by_beginning
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.responses import PayoutDetail, PayoutPage, PayoutPreview, Timeline
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, BodyCall, JsonReply, PathCall, QueryCall, Route, RouteCall
from foreseal.payments.api.routes.refunds import DisbursementsQuery
from foreseal.payments.api.value_types import Amount, DestinationText, Items
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.disbursements.payouts import BASIS_POINTS, MAX_RECIPIENTS, split
from foreseal.payments.ledger import read
from foreseal.payments.ledger.models import PayoutRecord, Purpose, TimelineRecord
from foreseal.payments.typed_data import bytes32
from foreseal.payments.validation import AccountAddress, Bytes32


class PayoutPath(RequestModel):
    """Path of a payout."""

    id: Bytes32 = Field(description="Reference of the payout.")


class Recipient(RequestModel):
    """A recipient and an amount."""

    recipient: AccountAddress = Field(description="Account of the recipient.")
    amount: Amount = Field(description="Amount in smallest units.")


class Share(RequestModel):
    """A recipient and a share."""

    recipient: AccountAddress = Field(description="Account of the recipient.")
    basis_points: int = Field(ge=0, le=BASIS_POINTS, description="Share in basis points.")


class PayoutBody(RequestModel):
    """Reference and destination of a payout."""

    reference: Bytes32 | None = Field(
        default=None,
        description="32 bytes that the contract accepts once; derived from the Idempotency-Key by default.",
    )
    destination: DestinationText | None = Field(
        default=None, description="Destination whose payee pays in its token; default the first."
    )


class NewPayout(PayoutBody):
    """A payout of amounts."""

    recipients: Items[Recipient] = Field(max_length=MAX_RECIPIENTS, description="Recipients and amounts.")


class NewSplit(PayoutBody):
    """A payout of a sum by shares."""

    total: Amount = Field(description="Amount in smallest units.")
    shares: Items[Share] = Field(max_length=MAX_RECIPIENTS, description="Shares in basis points; their sum is 10,000.")
    remainder: Annotated[int, Field(ge=0, le=MAX_RECIPIENTS - 1)] | None = Field(
        default=None, description="Index of the share that receives the remainder; default 0."
    )


PayoutCall = BodyCall[NewPayout] | BodyCall[NewSplit]


def _pay(call: BodyCall[NewPayout]) -> JsonReply:
    return _send(call, _payout_legs(call.body))


def _split(call: BodyCall[NewSplit]) -> JsonReply:
    return _send(call, _split_legs(call.body))


def _preview_payout(call: BodyCall[NewPayout]) -> JsonReply:
    return _preview(call, _payout_legs(call.body))


def _preview_split(call: BodyCall[NewSplit]) -> JsonReply:
    return _preview(call, _split_legs(call.body))


def _payout_legs(body: NewPayout) -> list[tuple[str, int]]:
    return [(each.recipient, each.amount) for each in body.recipients]


def _split_legs(body: NewSplit) -> list[tuple[str, int]]:
    shares, index = body.shares, body.remainder or 0
    try:
        amounts = split(body.total, [share.basis_points for share in shares], index)
    except ValueError as error:
        raise ApiError(400, "invalid_value", str(error), str(error).partition(":")[0]) from error
    legs = [(share.recipient, amount) for share, amount in zip(shares, amounts, strict=True)]
    return [leg for leg in legs if leg[1]]


def _destination(call: PayoutCall) -> tuple[Destination, str]:
    """Return the destination of a payout, and its contract."""
    destination = call.destination(call.body.destination)
    contract = destination.payouts_contract
    if contract is None:
        message = f"destination {destination.name!r} has no payouts contract in the configuration"
        raise ApiError(409, "payouts_not_configured", message)
    return destination, contract


def _preview(call: PayoutCall, legs: Sequence[tuple[str, int]]) -> JsonReply:
    destination, contract = _destination(call)
    try:
        checked = destination.payouts.preview(contract, legs)
    except ValueError as error:
        raise ApiError(400, "invalid_value", str(error), str(error).partition(":")[0]) from error
    merchant = destination.payouts.merchant
    return JsonReply(call.views.payout_preview(merchant.domain.contract, merchant.payee, contract, checked))


def _send(call: PayoutCall, legs: Sequence[tuple[str, int]]) -> JsonReply:
    destination, contract = _destination(call)
    reference = call.body.reference or _reference(call)
    try:
        id = destination.payouts.prepare(reference, contract, legs)
    except ValueError as error:
        raise ApiError(400, "invalid_value", str(error), str(error).partition(":")[0]) from error
    # The same reference means the same batch, so a repeat is safe.
    destination.payouts.advance(id)
    return JsonReply(_detail(call, id), 201)


def _reference(call: AnyCall) -> bytes:
    return bytes32(call.required_claim.id("pay").removeprefix("pay_") * 2, "reference")


def _get(call: PathCall[PayoutPath]) -> JsonReply:
    return JsonReply(_detail(call, _id(call.path)))


def _detail(call: AnyCall, id: str) -> PayoutDetail:
    with call.backend.database.reading() as tx:
        (shown,) = call.views.payouts(tx, [read(tx, PayoutRecord, id)])
        return {"payout": shown, "transactions": views.list_transactions(tx, {id: [id]}, Purpose.PAYOUT)[id]}


def _list(call: QueryCall[DisbursementsQuery]) -> JsonReply:
    state = call.query.state
    conditions = call.query.created(TimelineRecord.time)
    if state is not None:
        conditions.append(PayoutRecord.state == state)
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, PayoutRecord, call.query, *conditions)
        return JsonReply({"items": call.views.payouts(tx, rows), "next": following})


def _timeline(call: RouteCall[PayoutPath, TimelineQuery, NoFields]) -> JsonReply:
    with call.backend.database.reading() as tx:
        read(tx, PayoutRecord, _id(call.path))
        return JsonReply(list_events(tx, call.views, PayoutRecord, _id(call.path), call.query))


def _id(path: PayoutPath) -> str:
    return f"0x{path.id.hex()}"


ROUTES = (
    Route("POST", "/v1/payouts", "Pay up to 100 recipients in one transaction", _pay, {201: PayoutDetail}, Role.ADMIN),
    Route("POST", "/v1/splits", "Divide a sum by shares and pay it out", _split, {201: PayoutDetail}, Role.ADMIN),
    Route(
        "POST",
        "/v1/payouts/preview",
        "Check a payout as POST /v1/payouts does, and send nothing",
        _preview_payout,
        {200: PayoutPreview},
        Role.ADMIN,
        is_preview=True,
    ),
    Route(
        "POST",
        "/v1/splits/preview",
        "Check a split as POST /v1/splits does, and send nothing",
        _preview_split,
        {200: PayoutPreview},
        Role.ADMIN,
        is_preview=True,
    ),
    Route("GET", "/v1/payouts", "List payouts, newest first", _list, {200: PayoutPage}),
    Route("GET", "/v1/payouts/{id}", "Return a payout", _get, {200: PayoutDetail}),
    Route(
        "GET", "/v1/payouts/{id}/timeline", "Return the timeline of a payout, oldest first", _timeline, {200: Timeline}
    ),
)
