"""Routes for shoppers: the view of one order, what an account signs, and its signature."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from foreseal.payments.api.checkout.responses import (
    CheckoutAuthorized,
    CheckoutDetail,
    CheckoutPayment,
    CheckoutStatus,
)
from foreseal.payments.api.checkout.views import CheckoutViews
from foreseal.payments.api.errors import LIBRARY_ERRORS, ApiError, UnstoredError, to_api_error
from foreseal.payments.api.health_responses import Health
from foreseal.payments.api.idempotency import StoredResponse
from foreseal.payments.api.order_operations import DetailedOutcome
from foreseal.payments.api.payment_queue import AnyJob, PaymentJob
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, JsonReply, Reply, Route, RouteCall, RouteHandler, json_response
from foreseal.payments.api.routes.order_requests import OrderPath
from foreseal.payments.api.value_types import Digits, Signature, limited_text
from foreseal.payments.chain import TokenReads
from foreseal.payments.ledger import OrderState, TransitionNotAllowed
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.orders.acceptances import PayerSignature
from foreseal.payments.orders.auto_captures import AcceptedOrder
from foreseal.payments.orders.capture_checks import NotCapturable
from foreseal.payments.orders.payers import require_payer
from foreseal.payments.orders.terms import message_by
from foreseal.payments.signatures import check_signature, signer_path
from foreseal.payments.validation import AccountAddress

MAX_BODY = 20 * 1024
"""Maximum bytes of a shopper's body: the longest signature."""
MAX_WAIT = 25
"""Maximum seconds that a request waits for a change."""

_BY_STATE = {
    OrderState.VOIDED: CheckoutStatus.CANCELED,
    OrderState.CANCELED: CheckoutStatus.CANCELED,
    OrderState.EXPIRED: CheckoutStatus.EXPIRED,
    OrderState.CAPTURED: CheckoutStatus.FINAL,
}

PAYMENT_PATH = "/payment"
"""End of the path whose handler calls the node."""


class WatchQuery(RequestModel):
    """Wait for a change of an order."""

    version: Annotated[str, limited_text(64)] | None = Field(
        default=None, description="Version that the caller has; the response waits for another one."
    )
    wait_seconds: Annotated[int, Digits, Field(ge=0, le=MAX_WAIT)] = Field(
        default=0, description="Maximum wait for another version, in seconds."
    )


class PayerQuery(RequestModel):
    """Account that will pay."""

    payer: AccountAddress = Field(description="Account that will sign.")


class ShopperSignature(RequestModel):
    """A shopper's signature of an order."""

    signature: Signature = Field(description="Signature over the typed data.")
    payer: AccountAddress = Field(description="Account that signed.")


def shopper_routes(health: Callable[[], Health]) -> tuple[Route, ...]:
    """Return the routes. `health` is that of the service, and waits for nothing."""

    def order(call: RouteCall[OrderPath, WatchQuery, NoFields]) -> JsonReply:
        with call.backend.database.reading() as tx:
            return JsonReply({"order": _views(call).read(tx, call.path.id, health())})

    def payment(call: RouteCall[OrderPath, PayerQuery, NoFields]) -> JsonReply:
        return _payment(call)

    def authorize(call: RouteCall[OrderPath, NoFields, ShopperSignature]) -> Reply | AnyJob:
        return _authorize(call, health)

    def shopper_route(
        method: str, path: str, summary: str, handler: RouteHandler, answer: object, **more: Any
    ) -> Route:
        return Route(method, path, summary, handler, {200: answer}, Role.PUBLISHABLE, for_shopper=True, **more)

    prefix = "/v1/checkout/{id}"
    return (
        shopper_route("GET", prefix, "Return an order for its shopper; wait for a change", order, CheckoutDetail),
        shopper_route(
            "GET",
            f"{prefix}{PAYMENT_PATH}",
            "Return the typed data that an account signs to pay an order, and its balance",
            payment,
            CheckoutPayment,
        ),
        shopper_route(
            "POST",
            f"{prefix}/authorization",
            "Verify and store a shopper's signature, and capture an order with auto_capture",
            authorize,
            CheckoutAuthorized,
            max_body=MAX_BODY,
            queued=True,
        ),
    )


def _views(call: AnyCall) -> CheckoutViews:
    assert call.backend.checkout is not None, "the handler rejects requests without a checkout"
    return CheckoutViews(call.backend, call.backend.checkout, call.views)


def _payment(call: RouteCall[OrderPath, PayerQuery, NoFields]) -> JsonReply:
    backend, payer = call.backend, call.query.payer
    destination = backend.order_destination(call.path.id)
    order = destination.orders.get(call.path.id)
    _require_open(_views(call), order, payer)
    try:
        signer = destination.orders.signer(order, payer)
    except ValueError as error:
        raise _invalid_payer(error) from error
    balance = backend.node.execute(TokenReads(order.token).balance(payer, "pending"))
    return JsonReply(
        {
            "typed_data": message_by(order, signer).typed_data(destination.merchant.domain),
            "payer": payer,
            "balance": str(balance),
            "balance_shown": call.views.shown(balance, order.token),
            "is_sufficient": balance >= order.amount,
        }
    )


def _authorize(
    call: RouteCall[OrderPath, NoFields, ShopperSignature], health: Callable[[], Health]
) -> JsonReply | AnyJob:
    """Check the signature here, so that invalid ones never reach the merchant's queue; then return the job.

    The queue calls wallets: their code decides how long that takes.
    """
    backend, id, body, views = call.backend, call.path.id, call.body, _views(call)
    destination = backend.order_destination(id)
    order = destination.orders.get(id)
    if order.signature is not None and (order.payer, bytes(order.signature)) == (body.payer, body.signature):
        return JsonReply({"order": views.order(order, health()), "capture_error": None, "obstacle": None})
    _require_open(views, order, body.payer)
    try:
        signer = destination.orders.signer(order, body.payer)
    except ValueError as error:
        raise _invalid_payer(error) from error
    message, domain = message_by(order, signer), destination.merchant.domain
    path = signer_path(backend.node, body.payer)
    if not path.has_code:
        check_signature(path, message, domain, body.payer, body.signature)

    def respond(outcomes: Sequence[DetailedOutcome[AcceptedOrder] | Exception]) -> StoredResponse:
        (outcome,) = outcomes
        if isinstance(outcome, Exception):
            raise _rejection(outcome)
        obstacle = outcome.outcome.value.obstacle
        shown = None if obstacle is None else to_api_error(obstacle).body()["error"]
        reason = obstacle.obstacle if isinstance(obstacle, NotCapturable) else None
        reply = {"order": views.order(outcome.order, health()), "capture_error": shown, "obstacle": reason}
        return json_response(200, reply)

    signature = PayerSignature(id, body.signature, body.payer)
    wallet = body.payer if path.has_code else None
    operation = call.operations.signatures
    return PaymentJob(call.required_key, call.fingerprint, operation, [signature], respond, {id}, wallet=wallet)


def _require_open(views: CheckoutViews, order: OrderRecord, payer: str) -> None:
    """Raise `ApiError` 409 unless the order can be paid, and `PayerMismatch` if it has another payer."""
    status = views.status(order)
    if status is not CheckoutStatus.OPEN:
        raise _closed(status)
    require_payer(order, payer)


def _closed(status: CheckoutStatus | None) -> ApiError:
    """Return the rejection of a signature for an order that is not open."""
    match status:
        case CheckoutStatus.CANCELED:
            return ApiError(409, "order_canceled", "the shop has canceled the order")
        case CheckoutStatus.EXPIRED:
            return ApiError(409, "order_expired", "the order has expired")
        case CheckoutStatus.PRECONFIRMED | CheckoutStatus.CONFIRMED | CheckoutStatus.FINAL:
            return ApiError(409, "already_paid", "the order is already paid")
        case _:
            return ApiError(409, "already_authorized", "the order has a signature already")


def _rejection(error: Exception) -> ApiError:
    """Return the error response of an outcome; raises an unexpected one."""
    if isinstance(error, TransitionNotAllowed):
        status = next(
            (checkout_status for state, checkout_status in _BY_STATE.items() if error.status.startswith(state)), None
        )
        return UnstoredError.from_error(_closed(status))
    if isinstance(error, LIBRARY_ERRORS):
        return UnstoredError.from_error(to_api_error(error))
    if isinstance(error, ValueError):
        return UnstoredError.from_error(_invalid_payer(error))
    raise error


def _invalid_payer(error: ValueError) -> ApiError:
    return ApiError(400, "invalid_value", str(error), "payer")
