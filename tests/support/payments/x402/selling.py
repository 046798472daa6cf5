"""A shop with paid routes, in this process without a socket."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from x402.http.clients.httpx import x402AsyncTransport
from x402.http.utils import (
    decode_payment_required_header,
    decode_payment_response_header,
    encode_payment_signature_header,
)
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from foreseal.payments.x402.facilitator.facilitator import InProcessFacilitator
from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.pay_page import PayPage
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.prices import Price, Scheme, TransferMethod
from foreseal.payments.x402.seller.seller import Seller
from payments.x402.paying import pay
from payments.x402.world import AUTHORIZER, DOMAIN, SHOP, World

ORIGIN = "http://shop.test"
PRICES = {
    "GET /report": Price(1000),
    "GET /other": Price(1000),
    "POST /make": Price(1000),
    "GET /crash": Price(1000),
    "GET /error": Price(1000),
    "GET /permit2": Price(1000, transfer_method=TransferMethod.PERMIT2),
    "GET /permit2/crash": Price(1000, transfer_method=TransferMethod.PERMIT2),
    "GET /upto/{amount}": Price(1000, Scheme.UPTO),
    "GET /tick": Price(100, Scheme.BATCH),
    "GET /tick/crash": Price(100, Scheme.BATCH),
    "GET /tick/sync": Price(100, Scheme.BATCH),
}
T = TypeVar("T")


class Broken(Exception):
    """The error of a failing handler."""


class Selling:
    """One process of a seller."""

    def __init__(
        self, world: World, url: str, facilitator: Any = None, seconds_ahead: int = 0, page: PayPage | None = None
    ) -> None:
        self.runs: Counter[str] = Counter()
        self.during: Callable[[], object] | None = None
        """Called while a handler runs."""
        self.crashing = True
        """True while the crashing routes crash."""
        self.facilitator = facilitator or InProcessFacilitator(world.facilitator(url))
        shop = SellerSettings(
            PRICES, SHOP.address, DOMAIN, authorizer=AUTHORIZER, origin=ORIGIN, page=page or PayPage()
        )
        ledger = replace(world.ledger(url), clock=lambda: world.time() + seconds_ahead)
        self.seller = Seller(ledger, world.node(), self.facilitator, shop)
        routes = [
            Route(path, self.handler, methods=["GET", "POST"]) for path in ("/report", "/other", "/make", "/free")
        ]
        routes += [Route(path, self.handler) for path in ("/permit2", "/tick", "/upto/{amount:int}")]
        routes += [Route("/tick/sync", self.sync_handler)]
        routes += [Route(path, self.crash) for path in ("/crash", "/permit2/crash", "/tick/crash")]
        routes += [Route("/error", self.error)]
        self.app = PaidRoutes(Starlette(routes=routes), self.seller)

    async def handler(self, request: Request) -> Response:
        self.runs[request.url.path] += 1
        if self.during is not None:
            await run_in_threadpool(self.during)
        if "amount" in request.path_params:
            request.state.payment.charge(request.path_params["amount"])
        return JSONResponse({"path": request.url.path, "run": self.runs[request.url.path]})

    def sync_handler(self, request: Request) -> Response:
        """Respond like `handler`, as a function that Starlette runs in its thread pool."""
        self.runs[request.url.path] += 1
        if self.during is not None:
            self.during()
        return JSONResponse({"path": request.url.path, "run": self.runs[request.url.path]})

    async def crash(self, request: Request) -> Response:
        if self.crashing:
            self.runs[request.url.path] += 1
            if self.during is not None:
                await run_in_threadpool(self.during)
            raise Broken
        return await self.handler(request)

    async def error(self, request: Request) -> Response:
        self.runs[request.url.path] += 1
        return JSONResponse({"error": "no such report"}, status_code=404)

    def client(self) -> httpx.AsyncClient:
        """Return a client that pays nothing."""
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=ORIGIN)

    def paying(self, stock: Any) -> httpx.AsyncClient:
        """Return the package's client, which pays on request."""
        transport = x402AsyncTransport(stock, httpx.ASGITransport(self.app))
        return httpx.AsyncClient(transport=transport, base_url=ORIGIN)

    def run(self, act: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
        """Return the result of `act`, which receives a client that pays nothing."""

        async def running() -> T:
            async with self.client() as client:
                return await act(client)

        return asyncio.run(running())

    def get(self, path: str, payment: PaymentPayload | None = None, **given: Any) -> httpx.Response:
        """Return the response to one request."""
        method = given.pop("method", "GET")
        headers = given.pop("headers", None) or signed(payment)
        return self.run(lambda client: client.request(method, path, headers=headers, **given))

    def demand(self, path: str, method: str = "GET") -> PaymentRequirements:
        """Return the payment requirements of a path."""
        return requirements_of(self.get(path, method=method))

    def bought(self, buyer: Any, path: str) -> PaymentPayload:
        """Return a fresh payment for a route."""
        return pay(buyer, self.demand(path), ORIGIN + path)


def signed(payment: PaymentPayload | None) -> dict[str, str]:
    """Return the header of a payment."""
    return {} if payment is None else {"payment-signature": encode_payment_signature_header(payment)}


def requirements_of(response: httpx.Response) -> PaymentRequirements:
    """Return the payment requirements of a 402."""
    assert response.status_code == 402, response.text
    requirements = decode_payment_required_header(response.headers["payment-required"]).accepts[0]
    assert isinstance(requirements, PaymentRequirements)
    return requirements


def settlement(response: httpx.Response) -> SettleResponse:
    """Return the settlement in a paid response."""
    return decode_payment_response_header(response.headers["payment-response"])
