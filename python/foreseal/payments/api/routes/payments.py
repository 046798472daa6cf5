"""Payments in one request: terms and signature, captured at once if requested; one by one or in bulk."""

from collections.abc import Sequence

from pydantic import Field

from foreseal.payments.api.errors import LIBRARY_ERRORS, ApiError, to_api_error
from foreseal.payments.api.idempotency import StoredResponse, derived_id
from foreseal.payments.api.payment_queue import AnyJob, PaymentJob
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.responses import OrderPlaced, PaymentBatch, PaymentBatchItem
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, BodyCall, Route, json_response
from foreseal.payments.api.value_types import (
    Amount,
    DestinationText,
    EndTime,
    Items,
    Metadata,
    ObjectId,
    Reference,
    Signature,
    Time,
)
from foreseal.payments.api.views import Views
from foreseal.payments.orders.merchant_data import MerchantData
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.payments import NewPayment
from foreseal.payments.orders.terms import Expired, OrderTerms
from foreseal.payments.validation import AccountAddress, Bytes32

MAX_PAYMENTS = 1_000
"""Maximum payments of one request."""
_MAX_BODY = 2 * 1024 * 1024


class PaymentRequest(RequestModel):
    """A signed payment."""

    id: ObjectId | None = Field(
        default=None, description="Id of the order; derived from the Idempotency-Key by default."
    )
    payer: AccountAddress = Field(description="Account of the buyer.")
    amount: Amount = Field(description="Exact amount, in smallest units, as a string.")
    valid_after: Time | None = Field(default=None, description="Unix time in seconds, exclusive; default 0.")
    valid_before: EndTime = Field(description="Unix time in seconds, exclusive.")
    nonce: Bytes32 = Field(description="Nonce of the signed authorization: 32 random bytes.")
    signature: Signature = Field(description="Signature of the payer over ReceiveWithAuthorization (EIP-3009).")
    capture: bool | None = Field(default=None, description="Capture the payment at once; default false.")
    destination: DestinationText | None = Field(
        default=None, description="Destination of the payment; default the first."
    )
    reference: Reference | None = Field(default=None, description="The merchant's own name of the order.")
    metadata: Metadata | None = Field(default=None, description="The merchant's own data: texts by name.")


class PaymentBatchRequest(RequestModel):
    """Signed payments."""

    payments: Items[PaymentRequest] = Field(max_length=MAX_PAYMENTS, description="Payments, in order.")


def _pay(call: BodyCall[PaymentRequest]) -> AnyJob:
    payment = _new_payment(call, call.body, derived_id(call.required_key, "ord"), "")

    def respond(outcomes: Sequence[StoredOrder | Exception]) -> StoredResponse:
        (outcome,) = outcomes
        if isinstance(outcome, StoredOrder):
            return json_response(201, {"order": call.views.new_order(outcome)})
        raise _api_error(outcome)

    return PaymentJob(call.required_key, call.fingerprint, call.operations.payments, [payment], respond)


def _pay_batch(call: BodyCall[PaymentBatchRequest]) -> AnyJob:
    """Return the job of a batch. An item whose fields are invalid rejects the batch; all other errors are its own."""
    payments = [
        _new_payment(call, item, derived_id(f"{call.required_key}/{position}", "ord"), f"payments[{position}].")
        for position, item in enumerate(call.body.payments)
    ]

    def respond(outcomes: Sequence[StoredOrder | Exception]) -> StoredResponse:
        errors = [_api_error(outcome) for outcome in outcomes if not isinstance(outcome, StoredOrder)]
        if len(errors) == len(outcomes) and all(error.passing for error in errors):
            raise errors[0]
        return json_response(200, {"items": [_item(call.views, outcome) for outcome in outcomes]})

    return PaymentJob(call.required_key, call.fingerprint, call.operations.payments, payments, respond)


def _new_payment(call: AnyCall, body: PaymentRequest, id: str, location: str) -> NewPayment:
    terms = OrderTerms(body.payer, body.amount, body.valid_after or 0, body.valid_before, body.nonce)
    data = MerchantData(body.reference, body.metadata or {})
    payments = call.destination(body.destination, location).payments
    try:
        return payments.new(body.id or id, terms, body.signature, capture=body.capture or False, data=data)
    except ValueError as error:
        argument = f"{location}{str(error).partition(':')[0]}"
        raise ApiError(400, "invalid_value", f"{location}{error}", argument) from error


def _item(views: Views, outcome: StoredOrder | Exception) -> PaymentBatchItem:
    if isinstance(outcome, StoredOrder):
        return {"status": 201, "order": views.new_order(outcome), "error": None}
    error = _api_error(outcome)
    return {"status": error.status, "order": None, "error": error.body()["error"]}


def _api_error(error: Exception) -> ApiError:
    if isinstance(error, Expired):
        return ApiError(400, "invalid_value", str(error), "valid_before")
    if isinstance(error, LIBRARY_ERRORS):
        return to_api_error(error)
    raise error


ROUTES = (
    Route(
        "POST",
        "/v1/payments",
        "Store a signed payment, and capture it if requested",
        _pay,
        {201: OrderPlaced},
        Role.CASHIER,
        queued=True,
    ),
    Route(
        "POST",
        "/v1/payments/batch",
        "Store many signed payments; each item of the response, in order, has its own outcome",
        _pay_batch,
        {200: PaymentBatch},
        Role.CASHIER,
        max_body=_MAX_BODY,
        queued=True,
    ),
)
