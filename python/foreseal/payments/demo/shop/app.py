"""Server of the demo shop: pages, orders, webhooks and refunds. The shop has no sessions.

```text
shopper   GET /                          products
          POST /products/ID/checkout     creates an order, redirects to its checkout
          POST /products/ID/orders       creates an order for the payment button
          GET /orders/ORDER              stages of the order; its id cannot be guessed
service   POST /webhooks                 signed events
merchant  GET /merchant                  the newest orders
          POST /merchant/ORDER/refund    refunds an order
```
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from foreseal.merchant import AsyncMerchantClient, MerchantError, RetryPolicy
from foreseal.payments.api.request_rates import RequestRate, RequestRates
from foreseal.payments.api.webhook_signature import InvalidWebhookSignature, verify
from foreseal.payments.demo.shop.order_book import OrderBook, ShopEvent, ShopOrder, ShopRefund
from foreseal.payments.demo.shop.pages import catalogue_page, error_page, merchant_page, order_page, product_page
from foreseal.payments.demo.shop.products import PRODUCTS, Product
from foreseal.payments.demo.shop.responses import ShopResponses, check_origin, read_limited

_HOSTS = ["127.0.0.1"]
_MAX_EVENT_SIZE = 64 << 10
_SHOWN_ORDERS = 50
_VALID_SECONDS = 900
# Each new order is a row of the service's database.
_ORDER_RATE = RequestRate("orders", 0.2, 30)


@dataclass(frozen=True, slots=True)
class ShopSettings:
    """Addresses and secrets of a shop. No secret reaches a browser."""

    origin: str
    """Origin at which browsers reach the shop."""
    service_url: str
    explorer_url: str
    cashier_key: str
    """API key that creates orders."""
    refunder_key: str
    """API key that refunds."""
    webhook_secret: str


class DemoShop:
    """The shop."""

    def __init__(self, settings: ShopSettings, clock: Callable[[], float] = time.time) -> None:
        """Create the shop. `clock` returns seconds since 1970. Raises OSError."""
        self._settings = settings
        self._clock = clock
        self._book = OrderBook(clock)
        self._respond = ShopResponses(settings.service_url)
        self._rates = RequestRates()
        retries = RetryPolicy(attempts=3, max_elapsed=5.0)
        self._cashier = AsyncMerchantClient(settings.service_url, settings.cashier_key, retries=retries)
        self._refunder = AsyncMerchantClient(settings.service_url, settings.refunder_key, retries=retries)
        self.app = Starlette(
            routes=[
                Route("/", self._catalogue),
                Route("/static/{name}", self._file),
                Route("/products/{product}", self._product),
                Route("/products/{product}/checkout", self._buy, methods=["POST"]),
                Route("/products/{product}/orders", self._order, methods=["POST"]),
                Route("/orders/{order}", self._status),
                Route("/orders/{order}/version", self._version),
                Route("/merchant", self._merchant),
                Route("/merchant/{order}/refund", self._refund, methods=["POST"]),
                Route("/webhooks", self._webhook, methods=["POST"]),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)],
            exception_handlers={HTTPException: self._failed, MerchantError: self._unserved},
        )
        """The ASGI application."""

    async def load(self) -> None:
        """Read the orders of earlier runs from the service. Raises `MerchantError`."""
        orders = await self._cashier.list_orders(limit=_SHOWN_ORDERS)
        refunds = await self._cashier.list_refunds(limit=_SHOWN_ORDERS)
        self._book.restore(reversed(orders["items"]), refunds["items"])

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._cashier.close()
        await self._refunder.close()

    async def _catalogue(self, request: Request) -> Response:
        return self._respond.page(catalogue_page())

    async def _file(self, request: Request) -> Response:
        return self._respond.file(request.path_params["name"])

    async def _product(self, request: Request) -> Response:
        button_url = f"{self._settings.service_url}/checkout/static/checkout/button.js"
        return self._respond.page(product_page(_product(request), button_url))

    async def _buy(self, request: Request) -> Response:
        return self._respond.redirect(await self._create(request))

    async def _order(self, request: Request) -> Response:
        return self._respond.json(orjson.dumps({"checkout_url": await self._create(request)}), 201)

    async def _status(self, request: Request) -> Response:
        return self._respond.page(order_page(self._find(request), self._settings.explorer_url))

    async def _version(self, request: Request) -> Response:
        return self._respond.text(self._find(request).version)

    async def _merchant(self, request: Request) -> Response:
        orders, dashboard_url = self._book.newest(_SHOWN_ORDERS), f"{self._settings.service_url}/dashboard"
        return self._respond.page(merchant_page(orders, self._settings.explorer_url, dashboard_url))

    async def _refund(self, request: Request) -> Response:
        check_origin(request, self._settings.origin)
        order = self._find(request)
        if not order.is_refundable:
            raise HTTPException(409, "Only a shipped order that is not refunded in full can be refunded.")
        # The same id and key for repeated clicks, so that the service refunds once.
        id = order.next_refund_id
        made = await self._refunder.refund_order(
            order.id, id=id, amount=str(order.refundable), idempotency_key=f"refund {id}"
        )
        # The webhook may come later; the next page already shows the refund.
        refund = ShopRefund(made["refund"]["id"], int(made["refund"]["amount"]))
        self._book.apply(ShopEvent("refund.created", order.id, None, refund))
        return self._respond.redirect("/merchant")

    async def _webhook(self, request: Request) -> Response:
        body = await read_limited(request, _MAX_EVENT_SIZE)
        try:
            verify(self._settings.webhook_secret, request.headers, body, self._clock())
        except InvalidWebhookSignature as error:
            raise HTTPException(401, str(error)) from None
        try:
            event = ShopEvent.parse(body)
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        self._book.apply(event)
        return self._respond.text("", 204)

    async def _create(self, request: Request) -> str:
        """Create an order and return its payment link."""
        check_origin(request, self._settings.origin)
        product = _product(request)
        if self._rates.charge(_ORDER_RATE, "all"):
            raise HTTPException(429, "Too many orders at once. Try again in a moment.")
        # The id gives access to the page of the order, so it is random.
        order = self._book.add(f"{product.id}-{secrets.token_hex(12)}", product)
        made = await self._cashier.create_order(
            id=order.id,
            amount=str(product.price),
            auto_capture=True,
            valid_seconds=_VALID_SECONDS,
            metadata={"description": product.name, "product": product.id},
            success_url=f"{self._settings.origin}/orders/{order.id}",
            cancel_url=f"{self._settings.origin}/products/{product.id}",
        )
        link = made["checkout_url"]
        if link is None:
            raise HTTPException(502, "The payment service has no checkout page.")
        return link

    def _find(self, request: Request) -> ShopOrder:
        order = self._book.find(request.path_params["order"])
        if order is None:
            raise HTTPException(404, "This shop has no such order.")
        return order

    async def _failed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "the handler of this exception"
        return self._respond.page(error_page(error.detail), error.status_code)

    async def _unserved(self, request: Request, error: Exception) -> Response:
        return self._respond.page(error_page(f"The payment service rejected the request: {error}"), 502)


def _product(request: Request) -> Product:
    product = PRODUCTS.get(request.path_params["product"])
    if product is None:
        raise HTTPException(404, "This shop has no such product.")
    return product
