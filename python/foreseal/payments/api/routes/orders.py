"""Orders: create, sign, capture, void, cancel and query."""

from sqlalchemy import select

from foreseal.payments.api import views
from foreseal.payments.api.errors import ApiError, to_api_error
from foreseal.payments.api.events import list_events
from foreseal.payments.api.pagination import by_beginning
from foreseal.payments.api.request_models import NoFields
from foreseal.payments.api.responses import OrderDetail, OrderPage, OrderSigned, OrderToSign, Timeline, TypedData
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, BodyCall, JsonReply, PathCall, QueryCall, Route, RouteCall
from foreseal.payments.api.routes.order_requests import (
    NewOrder,
    OrderCapture,
    OrderPath,
    OrderSignature,
    OrdersQuery,
    OrderVoid,
    TypedDataQuery,
)
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.ledger import DuplicateRecord, OrderState, TransitionNotAllowed, Trigger, TxStatus, read
from foreseal.payments.ledger.models import OrderRecord, Purpose, TransferRecord
from foreseal.payments.orders.authorizations import OrderTerms, PermitTerms, message
from foreseal.payments.orders.merchant_data import MerchantData
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.transactions import building_head
from foreseal.payments.typed_data import random_nonce


def _create(call: BodyCall[NewOrder]) -> JsonReply:
    body = call.body
    id = body.id or call.required_claim.id("ord")
    if call.required_claim.again:
        made = _made_before(call, id)
        if made is not None:
            return made
    destination = call.destination(body.destination)
    _check_terms(call, destination)
    drafting = destination.orders
    now, valid_before = building_head(call.backend.node).timestamp, body.valid_before
    if valid_before is None:
        valid_before = now + (body.valid_seconds or call.backend.configuration.policy.valid_seconds)
    elif valid_before <= now:
        expired = f"valid_before: {valid_before} is not after {now}, the timestamp of the pending block"
        raise ApiError(400, "invalid_value", expired, "valid_before")
    data = MerchantData(body.reference, body.metadata or {})
    try:
        if body.maximum is not None:
            drafting.draft_permit(id, PermitTerms(body.payer, body.maximum, valid_before - 1, random_nonce()), data)
        else:
            assert body.amount is not None
            exact = OrderTerms(body.payer, body.amount, body.valid_after or 0, valid_before, random_nonce())
            drafting.draft(id, exact, data, auto_capture=body.auto_capture or False)
    except ValueError as error:
        raise _named(error) from error
    return _to_sign(call, id)


def _check_terms(call: BodyCall[NewOrder], destination: Destination) -> None:
    """Reject fields that exclude each other."""
    body = call.body
    for name, other in (("valid_seconds", "valid_before"), ("maximum", "amount"), ("valid_after", "maximum")):
        if getattr(body, name) is not None and getattr(body, other) is not None:
            raise ApiError(400, "invalid_value", f"{name}: {other} is given as well", name)
    if body.amount is None and body.maximum is None:
        raise ApiError(400, "missing_field", "amount or maximum is required", "amount")
    if body.maximum is not None and body.auto_capture:
        message = "auto_capture: an order with a maximum needs a capture request with its amount"
        raise ApiError(400, "invalid_value", message, "auto_capture")
    if body.maximum is not None and destination.merchant.checkout is None:
        message = f"destination {destination.name!r} has no checkout contract in the configuration"
        raise ApiError(409, "checkout_not_configured", message, "maximum")


def _made_before(call: BodyCall[NewOrder], id: str) -> JsonReply | None:
    """Return the order if an earlier execution of this request created it."""
    with call.backend.database.reading() as tx:
        if not call.required_claim.happened(tx, OrderRecord.__tablename__, id, Trigger.SET_TERMS):
            return None
        order = read(tx, OrderRecord, id)
    if (order.payer, order.amount) != (call.body.payer, call.body.amount or call.body.maximum):
        raise DuplicateRecord(f"orders: {id} or another of its keys already exists")
    return _to_sign(call, id)


def _to_sign(call: AnyCall, id: str) -> JsonReply:
    with call.backend.database.reading() as tx:
        order = read(tx, OrderRecord, id)
        shown, domain = call.views.order(tx, order), call.backend.lookup(tx).order(order).merchant.domain
    return JsonReply({"order": shown, "typed_data": message(order).typed_data(domain)}, 201)


def _typed_data(call: RouteCall[OrderPath, TypedDataQuery, NoFields]) -> JsonReply:
    destination, id = call.backend.order_destination(call.path.id), call.path.id
    domain = destination.merchant.domain
    if call.query.purpose == "cancel":
        return JsonReply(destination.cancellations.message(id).typed_data(domain))
    return JsonReply(message(destination.orders.get(id)).typed_data(domain))


def _sign(call: RouteCall[OrderPath, NoFields, OrderSignature]) -> JsonReply:
    backend, id, signature = call.backend, call.path.id, call.body.signature
    with backend.database.reading() as tx:
        order = read(tx, OrderRecord, id)
        destination = backend.lookup(tx).order(order)
    if order.state is OrderState.DRAFTED:
        destination.orders.accept(id, signature)
    elif order.signature != signature:  # repeating the stored signature changes nothing
        raise TransitionNotAllowed(order.state, Trigger.SIGN)
    elif order.state is OrderState.SIGNED:
        destination.orders.store(id)
    # A crash before this line leaves the capture to the worker.
    error = destination.auto_captures.attempt(id) if order.auto_capture else None
    shown = None if error is None else to_api_error(error).body()["error"]
    return JsonReply(_detail(call, id).value | {"capture_error": shown})


def _capture(call: RouteCall[OrderPath, NoFields, OrderCapture]) -> JsonReply:
    id, amount = call.path.id, call.body.amount
    if not _done_before(call, id, Trigger.CAPTURE):
        try:
            call.backend.order_destination(id).captures.capture(id, amount)
        except InvalidSignature:
            raise
        except ValueError as error:
            raise _named(error) from error
    return _detail(call, id)


def _void(call: RouteCall[OrderPath, NoFields, OrderVoid]) -> JsonReply:
    id = call.path.id
    if not _done_before(call, id, Trigger.VOID):
        # A void needs no key, so it is possible without a configured destination.
        call.backend.destinations.default.orders.void(id, call.body.reason or "")
    return _detail(call, id)


def _cancel(call: RouteCall[OrderPath, NoFields, OrderSignature]) -> JsonReply:
    id = call.path.id
    if not _done_before(call, id, Trigger.CANCEL):
        call.backend.order_destination(id).cancellations.cancel(id, call.body.signature)
    return _detail(call, id)


def _done_before(call: AnyCall, id: str, trigger: Trigger) -> bool:
    if not call.required_claim.again:
        return False
    with call.backend.database.reading() as tx:
        return call.required_claim.happened(tx, OrderRecord.__tablename__, id, trigger)


def _get(call: PathCall[OrderPath]) -> JsonReply:
    return _detail(call, call.path.id)


def _detail(call: AnyCall, id: str) -> JsonReply:
    with call.backend.database.reading() as tx:
        order = read(tx, OrderRecord, id)
        subjects = [id] if order.capture_batch is None else [id, order.capture_batch]
        purposes = (Purpose.CAPTURE, Purpose.CAPTURE_BATCH, Purpose.CANCEL)
        found = {
            "order": call.views.order(tx, order),
            "transactions": views.list_transactions(tx, subjects, *purposes),
        }
    return JsonReply(found)


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
    if parameters.transaction is not None:
        paid = select(TransferRecord.order_id).where(
            TransferRecord.transaction_hash == "0x" + parameters.transaction.hex()
        )
        conditions.append(OrderRecord.id.in_(paid))
    with call.backend.database.reading() as tx:
        rows, following = by_beginning(tx, OrderRecord, parameters, *conditions)
        shown = call.views.orders(tx, rows)
    return JsonReply({"items": shown, "next": following})


def _timeline(call: PathCall[OrderPath]) -> JsonReply:
    with call.backend.database.reading() as tx:
        read(tx, OrderRecord, call.path.id)
        return JsonReply({"items": list_events(tx, call.views, OrderRecord, call.path.id)})


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
        "GET", "/v1/orders/{id}/timeline", "Return the timeline of an order, oldest first", _timeline, {200: Timeline}
    ),
    Route(
        "POST",
        "/v1/orders/{id}/signature",
        "Verify and store the payer's signature, and capture an order with auto_capture",
        _sign,
        {200: OrderSigned},
        Role.CASHIER,
    ),
    Route(
        "POST",
        "/v1/orders/{id}/capture",
        "Capture an order: submit the transaction and track its receipt",
        _capture,
        {200: OrderDetail},
        Role.CASHIER,
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
