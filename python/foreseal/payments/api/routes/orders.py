"""Orders: create, sign, capture, void, cancel and query."""

from collections.abc import Sequence

from sqlalchemy import select

from foreseal.payments.api.errors import LIBRARY_ERRORS, ApiError, to_api_error
from foreseal.payments.api.events import list_events, list_order_events, newest_refunds
from foreseal.payments.api.idempotency import StoredResponse, derived_id
from foreseal.payments.api.order_operations import DetailedOutcome, order_details
from foreseal.payments.api.pagination import by_beginning
from foreseal.payments.api.payment_queue import AnyJob, PaymentJob
from foreseal.payments.api.request_models import NoFields
from foreseal.payments.api.responses import (
    CheckoutLink,
    OrderDetail,
    OrderPage,
    OrderSigned,
    OrderToSign,
    Timeline,
    TypedData,
)
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import (
    AnyCall,
    BodyCall,
    JsonReply,
    PathCall,
    QueryCall,
    Route,
    RouteCall,
    json_response,
)
from foreseal.payments.api.routes.order_requests import (
    CancellationSignature,
    NewOrder,
    OrderCapture,
    OrderDetailQuery,
    OrderPath,
    OrderSignature,
    OrdersQuery,
    OrderTimelineQuery,
    OrderVoid,
    TypedDataQuery,
)
from foreseal.payments.api.views import list_transactions
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.destinations.order_operations import Outcome
from foreseal.payments.ledger import Trigger, TxStatus, read
from foreseal.payments.ledger.models import OrderRecord, Purpose, TransferRecord
from foreseal.payments.orders.acceptances import PayerSignature
from foreseal.payments.orders.auto_captures import AcceptedOrder
from foreseal.payments.orders.captures import CaptureRequest, DecidedCapture
from foreseal.payments.orders.drafts import DraftTerms
from foreseal.payments.orders.merchant_data import MerchantData
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.payers import PayerRequired, require_payer
from foreseal.payments.orders.terms import message_by, order_typed_data
from foreseal.payments.typed_data import random_nonce


def _create(call: BodyCall[NewOrder]) -> AnyJob:
    body = call.body
    destination = call.destination(body.destination)
    amount = _amount(call, destination)
    terms = DraftTerms(
        payer=body.payer,
        amount=amount,
        nonce=random_nonce(),
        valid_after=body.valid_after or 0,
        valid_before=body.valid_before,
        valid_seconds=body.valid_seconds or call.backend.configuration.policy.valid_seconds,
        permit=body.maximum is not None,
    )
    id, checkout = body.id or derived_id(call.required_key, "ord"), call.backend.checkout
    data = MerchantData(body.reference, body.metadata or {}, *_return_urls(call))
    try:
        draft = destination.drafts.new(id, terms, data, auto_capture=body.auto_capture or False)
    except ValueError as error:
        raise _named(error) from error

    def respond(outcomes: Sequence[StoredOrder | Exception]) -> StoredResponse:
        (stored,) = outcomes
        if not isinstance(stored, StoredOrder):
            raise _api_error(stored)
        order = stored.order
        shown = call.views.new_order(stored)
        typed_data = order_typed_data(order, destination.merchant.domain)
        created = {"order": shown, "payer_required": order.payer is None, "typed_data": typed_data}
        return json_response(201, created | {"checkout_url": None if checkout is None else checkout.payment_link(id)})

    return PaymentJob(call.required_key, call.fingerprint, destination.drafts, [draft], respond)


def _return_urls(call: BodyCall[NewOrder]) -> tuple[str | None, str | None]:
    """Return the pages to which shoppers return. Rejects those of other origins than the configured ones."""
    checkout, urls = call.backend.checkout, (call.body.success_url, call.body.cancel_url)
    for name, url in zip(("success_url", "cancel_url"), urls, strict=True):
        problem = "requires the section [checkout]" if checkout is None else None
        if url is not None and checkout is not None:
            problem = checkout.return_url_problem(url)
        if url is not None and problem is not None:
            raise ApiError(400, "invalid_value", f"{name}: {problem}", name)
    return urls


def _checkout_link(call: PathCall[OrderPath]) -> JsonReply:
    with call.backend.database.reading() as tx:
        read(tx, OrderRecord, call.path.id)
    link = None if call.backend.checkout is None else call.backend.checkout.payment_link(call.path.id)
    if link is None:
        raise ApiError(404, "checkout_disabled", "the order has no checkout page: see [checkout] in the configuration")
    return JsonReply({"checkout_url": link})


def _amount(call: BodyCall[NewOrder], destination: Destination) -> int:
    """Return the amount, or the maximum. Rejects fields that exclude each other."""
    body = call.body
    for name, other in (("valid_seconds", "valid_before"), ("maximum", "amount"), ("valid_after", "maximum")):
        if getattr(body, name) is not None and getattr(body, other) is not None:
            raise ApiError(400, "invalid_value", f"{name}: {other} is given as well", name)
    amount = body.maximum if body.amount is None else body.amount
    if amount is None:
        raise ApiError(400, "missing_field", "amount or maximum is required", "amount")
    if body.maximum is not None and body.auto_capture:
        message = "auto_capture: an order with a maximum needs a capture request with its amount"
        raise ApiError(400, "invalid_value", message, "auto_capture")
    if body.maximum is not None and destination.merchant.checkout is None:
        message = f"destination {destination.name!r} has no checkout contract in the configuration"
        raise ApiError(409, "checkout_not_configured", message, "maximum")
    return amount


def _typed_data(call: RouteCall[OrderPath, TypedDataQuery, NoFields]) -> JsonReply:
    destination, id = call.backend.order_destination(call.path.id), call.path.id
    domain = destination.merchant.domain
    order, payer = destination.orders.get(id), call.query.payer
    if call.query.purpose == "cancel":
        require_payer(order, payer)
        return JsonReply(destination.cancellations.message(id).typed_data(domain))
    try:
        signer = destination.orders.signer(order, payer)
    except PayerRequired:
        raise
    except ValueError as error:
        raise _named(error) from error
    return JsonReply(message_by(order, signer).typed_data(domain))


def _sign(call: RouteCall[OrderPath, NoFields, OrderSignature]) -> AnyJob:
    id, body = call.path.id, call.body

    def respond(outcomes: Sequence[DetailedOutcome[AcceptedOrder] | Exception]) -> StoredResponse:
        detailed = _outcome(outcomes)
        obstacle = detailed.outcome.value.obstacle
        shown = None if obstacle is None else to_api_error(obstacle).body()["error"]
        return json_response(200, {**detailed.detail, "capture_error": shown})

    signature = PayerSignature(id, body.signature, body.payer)
    return PaymentJob(call.required_key, call.fingerprint, call.operations.signatures, [signature], respond, {id})


def _capture(call: RouteCall[OrderPath, NoFields, OrderCapture]) -> AnyJob:
    id = call.path.id

    def respond(outcomes: Sequence[DetailedOutcome[DecidedCapture] | Exception]) -> StoredResponse:
        return json_response(200, _outcome(outcomes).detail)

    request = CaptureRequest(id, call.body.amount)
    return PaymentJob(call.required_key, call.fingerprint, call.operations.captures, [request], respond, {id})


def _outcome(outcomes: Sequence[DetailedOutcome[Outcome] | Exception]) -> DetailedOutcome[Outcome]:
    """Return the outcome of a request for one order. Raises `ApiError`."""
    (outcome,) = outcomes
    if isinstance(outcome, DetailedOutcome):
        return outcome
    raise _api_error(outcome)


def _api_error(error: Exception) -> ApiError:
    """Return the error response of an outcome; raises an unexpected one."""
    if isinstance(error, LIBRARY_ERRORS):
        return to_api_error(error)
    if isinstance(error, ValueError):
        return _named(error)
    raise error


def _void(call: RouteCall[OrderPath, NoFields, OrderVoid]) -> JsonReply:
    id = call.path.id
    if not _done_before(call, id, Trigger.VOID):
        # A void needs no key, so it is possible without a configured destination.
        call.backend.destinations.default.orders.void(id, call.body.reason or "")
    return _detail(call, id)


def _cancel(call: RouteCall[OrderPath, NoFields, CancellationSignature]) -> JsonReply:
    id = call.path.id
    if not _done_before(call, id, Trigger.CANCEL):
        call.backend.order_destination(id).cancellations.cancel(id, call.body.signature)
    return _detail(call, id)


def _done_before(call: AnyCall, id: str, trigger: Trigger) -> bool:
    if not call.required_claim.again:
        return False
    with call.backend.database.reading() as tx:
        return call.required_claim.happened(tx, OrderRecord.__tablename__, id, trigger)


def _get(call: RouteCall[OrderPath, OrderDetailQuery, NoFields]) -> JsonReply:
    id = call.path.id
    with call.backend.database.reading() as tx:
        detail = order_details(tx, call.views, [read(tx, OrderRecord, id)])[id]
        if call.query.refunds == "true":
            returned = list_transactions(tx, {id: newest_refunds(tx, id)}, Purpose.REFUND)[id]
            detail = {**detail, "transactions": [*detail["transactions"], *returned]}
        return JsonReply(detail)


def _detail(call: AnyCall, id: str) -> JsonReply:
    with call.backend.database.reading() as tx:
        return JsonReply(order_details(tx, call.views, [read(tx, OrderRecord, id)])[id])


def _list(call: QueryCall[OrdersQuery]) -> JsonReply:
    parameters, conditions = call.query, call.query.created(OrderRecord.created)
    if parameters.state is not None:
        conditions.append(OrderRecord.state == parameters.state)
    if parameters.finality is not None:
        conditions.append(OrderRecord.step == parameters.finality)
    if parameters.tx_status is not None:
        conditions.append(OrderRecord.step == TxStatus(parameters.tx_status))
    if parameters.destination is not None:
        merchant = call.destination(parameters.destination).merchant
        conditions += [OrderRecord.token == merchant.domain.contract, OrderRecord.payee.in_(merchant.receivers)]
    if parameters.payer is not None:
        conditions.append(OrderRecord.payer == parameters.payer)
    if parameters.nonce is not None:
        conditions.append(OrderRecord.nonce == parameters.nonce)
    if parameters.id is not None:
        conditions.append(OrderRecord.id.startswith(parameters.id, autoescape=True))
    if parameters.reference is not None:
        conditions.append(OrderRecord.reference == parameters.reference)
    if parameters.amount_from is not None:
        conditions.append(OrderRecord.amount >= parameters.amount_from)
    if parameters.amount_to is not None:
        conditions.append(OrderRecord.amount <= parameters.amount_to)
    if parameters.transaction is not None:
        paid = select(TransferRecord.order_id).where(
            TransferRecord.transaction_hash == "0x" + parameters.transaction.hex()
        )
        conditions.append(OrderRecord.id.in_(paid))
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, OrderRecord, parameters, *conditions)
        shown = call.views.orders(tx, rows)
    return JsonReply({"items": shown, "next": following})


def _timeline(call: RouteCall[OrderPath, OrderTimelineQuery, NoFields]) -> JsonReply:
    id = call.path.id
    with call.backend.database.reading() as tx:
        read(tx, OrderRecord, id)
        if call.query.refunds == "true":
            return JsonReply(list_order_events(tx, call.views, id, call.query))
        return JsonReply(list_events(tx, call.views, OrderRecord, id, call.query))


def _named(error: ValueError) -> ApiError:
    """Return the error response for invalid terms. The error's text begins with the argument at fault."""
    argument = str(error).partition(":")[0]
    return ApiError(400, "invalid_value", str(error), argument)


ROUTES = (
    Route(
        "POST",
        "/v1/orders",
        "Create an order; the response contains the typed data that the buyer signs",
        _create,
        {201: OrderToSign},
        Role.CASHIER,
        queued=True,
    ),
    Route("GET", "/v1/orders", "List and search orders, newest first", _list, {200: OrderPage}),
    Route("GET", "/v1/orders/{id}", "Return an order", _get, {200: OrderDetail}),
    Route(
        "GET",
        "/v1/orders/{id}/typed-data",
        "Return the typed data that the payer signs to pay or to cancel",
        _typed_data,
        {200: TypedData},
    ),
    Route(
        "GET",
        "/v1/orders/{id}/checkout-link",
        "Return the payment link of an order",
        _checkout_link,
        {200: CheckoutLink},
        Role.CASHIER,
    ),
    Route(
        "GET", "/v1/orders/{id}/timeline", "Return the timeline of an order, oldest first", _timeline, {200: Timeline}
    ),
    Route(
        "POST",
        "/v1/orders/{id}/signature",
        "Verify and store the payer's signature, and capture an order with auto_capture",
        _sign,
        {200: OrderSigned},
        Role.CASHIER,
        queued=True,
    ),
    Route(
        "POST",
        "/v1/orders/{id}/capture",
        "Capture an order: submit the transaction and track its receipt",
        _capture,
        {200: OrderDetail},
        Role.CASHIER,
        queued=True,
    ),
    Route(
        "POST",
        "/v1/orders/{id}/void",
        "Void an order, so that it is never captured",
        _void,
        {200: OrderDetail},
        Role.CASHIER,
    ),
    Route(
        "POST",
        "/v1/orders/{id}/cancel",
        "Relay the payer's signed cancellation of a voided order",
        _cancel,
        {200: OrderDetail},
        Role.CASHIER,
    ),
)
