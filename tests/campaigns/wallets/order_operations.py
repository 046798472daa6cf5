"""Operations of the merchant's service: orders, checkout, payments in one request, cancellations, refunds, permits."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from foreseal.payments.ledger import DisbursementState, OrderState
from foreseal.payments.orders.terms import message_by
from foreseal.payments.typed_data import Cancellation, ReceiveAuthorization, random_nonce
from payments.order_amounts import captured_amount
from wallets.market import Market
from wallets.operations import ACCEPTED, Operation, Sale

AMOUNT, PART = 500, 300
"""Amount of an order, and the captured or refunded part, in smallest units."""
_SECONDS = 3_600


class OrderOperation(Operation):
    """An operation whose result is a captured order."""

    def finish(self, market: Market, sale: Sale) -> None:
        order = market.service.order(sale.id) if sale.id in market.service.ids() else None
        if order is not None and order.state is OrderState.CAPTURED:
            sale.goods = captured_amount(order) or 0
            sale.done = True


class CaptureAssigned(OrderOperation):
    """Capture of an order for a payer."""

    name, entrance = "capture", "orders"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            _post(market, sale, "/v1/orders", {"id": sale.id, "payer": sale.payer.address, "amount": str(AMOUNT)})
        for sale in sales:
            _sign(market, sale)
        for sale in sales:
            _post(market, sale, f"/v1/orders/{sale.id}/capture")


class AcceptUnassigned(OrderOperation):
    """Acceptance of a signature of an order without payer, and its capture."""

    name, entrance = "accept and capture", "orders"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            _post(market, sale, "/v1/orders", {"id": sale.id, "amount": str(AMOUNT)})
            _sign(market, sale)
        for sale in sales:
            _post(market, sale, f"/v1/orders/{sale.id}/capture")


class Checkout(OrderOperation):
    """A shopper's signature at the checkout, with a capture by the worker."""

    name, entrance = "capture", "checkout"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            body = {"id": sale.id, "amount": str(AMOUNT), "auto_capture": True}
            secret = urlsplit(market.service.made("/v1/orders", body)["checkout_url"]).fragment
            headers = {"foreseal-client-secret": secret, "idempotency-key": ""}
            path, authorization = f"/v1/checkout/{sale.id}/authorization", _signature(market, sale)
            response = market.service.request("POST", path, authorization, role=None, headers=headers)
            _answered(sale, response)
            if sale.accepted and response.json()["obstacle"] is not None:
                sale.answer = f"later: {response.json()['obstacle']}"
            elif sale.accepted and response.json()["capture_error"] is not None:
                sale.answer = f"later: {response.json()['capture_error']['code']}"


class CaptureByPermit(OrderOperation):
    """Capture of a part of a maximum by a permit."""

    name, entrance, only_batched = "permit", "orders", False

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            _post(market, sale, "/v1/orders", {"id": sale.id, "payer": sale.payer.address, "maximum": str(AMOUNT)})
            _sign(market, sale)
        for sale in sales:
            _post(market, sale, f"/v1/orders/{sale.id}/capture", {"amount": str(PART)})


class Pay(OrderOperation):
    """A signed payment in one request."""

    name, entrance = "capture", "payments"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            _post(market, sale, "/v1/payments", _payment(market, sale))


class PayInBulk(OrderOperation):
    """Signed payments of both payers in one request, which are captured as one group."""

    name, entrance = "batch capture", "payments batch"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        body = {"payments": [_payment(market, sale) for sale in sales]}
        response = market.service.request("POST", "/v1/payments/batch", body)
        if response.status_code != httpx.codes.OK:
            for sale in sales:
                _answered(sale, response)
            return
        for sale, item in zip(sales, response.json()["items"], strict=True):
            sale.answer = ACCEPTED if item["error"] is None else _text(item["status"], item["error"])


class Cancel(Operation):
    """Void of a stored order, and the relay of the payer's cancellation."""

    name, entrance, moves_tokens = "cancel", "orders", False

    def prepare(self, market: Market, sale: Sale) -> None:
        body = {"id": sale.id, "payer": sale.payer.address, "amount": str(AMOUNT)}
        market.service.made("/v1/orders", body)
        market.service.made(f"/v1/orders/{sale.id}/signature", _signature(market, sale))
        market.service.made(f"/v1/orders/{sale.id}/void", {})

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            message = Cancellation(sale.payer.address, market.service.order(sale.id).nonce)
            signature = sale.payer.sign(message, market.domain)
            _post(market, sale, f"/v1/orders/{sale.id}/cancel", {"signature": "0x" + signature.hex()})

    def finish(self, market: Market, sale: Sale) -> None:
        sale.done = market.service.order(sale.id).state is OrderState.CANCELED


class Refund(Operation):
    """Refund of a part of an order to the wallet that paid it."""

    name, entrance, runs_code, moves_tokens = "refund", "orders", False, False

    def prepare(self, market: Market, sale: Sale) -> None:
        market.service.made("/v1/payments", _payment(market, sale))
        market.settle()
        assert market.service.order(sale.id).state is OrderState.CAPTURED, sale

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            _post(market, sale, f"/v1/orders/{sale.id}/refunds", {"amount": str(PART)})

    def finish(self, market: Market, sale: Sale) -> None:
        refunds = market.service.get("/v1/refunds")["items"]
        states = [each["state"] for each in refunds if each["order_id"] == sale.id]
        sale.done = states == [DisbursementState.COMPLETE.value]
        # The payer's goods are the returned money.
        sale.goods = -PART if sale.done else 0


def _signature(market: Market, sale: Sale) -> dict[str, str]:
    """Return the body with a payer's signature of an order."""
    order, orders = market.service.order(sale.id), market.service.backend.order_destination(sale.id).orders
    message = message_by(order, orders.signer(order, sale.payer.address))
    return {"signature": "0x" + sale.payer.sign(message, market.domain).hex(), "payer": sale.payer.address}


def _sign(market: Market, sale: Sale) -> None:
    if sale.id in market.service.ids():
        _post(market, sale, f"/v1/orders/{sale.id}/signature", _signature(market, sale))


def _payment(market: Market, sale: Sale) -> dict[str, Any]:
    """Return the body of a signed payment that is captured at once."""
    until, nonce = market.service.pending_time() + _SECONDS, random_nonce()
    receiver = market.service.backend.destinations.default.merchant.receiver
    message = ReceiveAuthorization(sale.payer.address, receiver, AMOUNT, 0, until, nonce)
    return {
        "id": sale.id,
        "payer": sale.payer.address,
        "amount": str(AMOUNT),
        "valid_before": until,
        "nonce": "0x" + nonce.hex(),
        "signature": "0x" + sale.payer.sign(message, market.domain).hex(),
        "capture": True,
    }


def _post(market: Market, sale: Sale, path: str, body: Any = None) -> None:
    """Send a request of the operation, unless an earlier one of the sale was rejected."""
    if not sale.answer or sale.accepted:
        _answered(sale, market.service.request("POST", path, {} if body is None else body))


def _answered(sale: Sale, response: httpx.Response) -> None:
    sale.answer = ACCEPTED if response.is_success else _text(response.status_code, response.json()["error"])


def _text(status: int, error: dict[str, Any]) -> str:
    """Return code and reason of an error of the service, with the status of an error of the server."""
    text: str = error["code"] if error["reason"] is None else f"{error['code']}: {error['reason']}"
    return text if status < httpx.codes.INTERNAL_SERVER_ERROR else f"{status}: {text}"
