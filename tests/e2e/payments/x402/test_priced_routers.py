"""Payments for what a router decides: redirects to another spelling, and Litestar's guards."""

import httpx
import pytest
from litestar import Litestar, Request, get
from litestar.params import FromQuery
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.routing import Route

from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.paid_api import PaidApi
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.seller import Seller
from payments.x402.paying import pay
from payments.x402.selling import ORIGIN, Selling, requirements_of
from payments.x402.world import BUYERS, DOMAIN, SHOP, World

BUYER = BUYERS[12]


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


def bought(selling: Selling, path: str, method: str = "GET") -> httpx.Response:
    """Return the response to a paid request."""
    requirements = requirements_of(selling.get(path, method=method))
    return selling.get(path, pay(BUYER, requirements, ORIGIN + path), method=method)


def test_redirect_of_the_router_to_the_trailing_slash_is_not_charged(world: World, selling: Selling) -> None:
    async def report(request: StarletteRequest) -> Response:
        return Response("report")

    selling.app = PaidRoutes(Starlette(routes=[Route("/report/", report)]), selling.seller)
    before = world.balance(SHOP.address)
    redirect = bought(selling, "/report")
    assert (redirect.status_code, redirect.headers["location"]) == (307, f"{ORIGIN}/report/")
    assert world.balance(SHOP.address) == before
    assert bought(selling, "/report/").text == "report"
    assert world.balance(SHOP.address) == before + 1000


REDIRECTS = {
    "GET /report 302 /report/": 0,
    "GET /report?page=2 301 http://shop.test//REPORT?page=2": 0,
    "GET /report 308 https://shop.test/report": 0,
    "POST /make 307 /make/": 0,
    "POST /make 303 /make": 1000,
    "GET /report 302 /report?signature=1": 1000,
    "GET /report 302 https://files.test/report": 1000,
    "GET /report 302 /files/report": 1000,
    "GET /report 302 http://[": 1000,
}


@pytest.mark.parametrize("case", REDIRECTS)
def test_only_a_redirect_to_the_same_url_is_not_charged(world: World, selling: Selling, case: str) -> None:
    method, path, status, location = case.split(" ")

    async def redirect(request: StarletteRequest) -> Response:
        return Response(status_code=int(status), headers={"location": location})

    routes = [Route(path.partition("?")[0], redirect, methods=[method])]
    selling.app = PaidRoutes(Starlette(routes=routes), selling.seller)
    before = world.balance(SHOP.address)
    assert bought(selling, path, method).status_code == int(status)
    assert world.balance(SHOP.address) == before + REDIRECTS[case]


def litestar_selling(world: World, selling: Selling) -> None:
    """Serve a Litestar application whose handlers declare their prices."""
    settings = SellerSettings({}, SHOP.address, DOMAIN, origin=ORIGIN)
    selling.seller = Seller(selling.seller.ledger, world.node(), selling.facilitator, settings)
    api = PaidApi(selling.seller)

    @get("/payer", guards=[api.guard("$0.001")])
    async def payer(request: Request[None, None, object]) -> dict[str, str]:
        return {"payer": request.state.payment.payer}

    @get("/decorated")
    @api.paid("$0.001")
    async def decorated(page: FromQuery[int] = 1) -> dict[str, int]:
        return {"page": page}

    @get("/thread", sync_to_thread=True)
    @api.paid("$0.001")
    def threaded() -> dict[str, str]:
        return {"from": "thread"}

    @get("/cached", guards=[api.guard("$0.001")], cache=60)
    async def cached() -> dict[str, int]:
        selling.runs["/cached"] += 1
        return {"run": selling.runs["/cached"]}

    app = Litestar([payer, decorated, threaded, cached], openapi_config=None)
    selling.app = api.wrap(app)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/payer", {"payer": BUYER.address}),
        ("/payer/", {"payer": BUYER.address}),
        ("/decorated?page=3", {"page": 3}),
        ("/thread", {"from": "thread"}),
    ],
)
def test_litestar_handler_is_paid(world: World, selling: Selling, path: str, content: dict[str, object]) -> None:
    litestar_selling(world, selling)
    before = world.balance(SHOP.address)
    response = bought(selling, path)
    assert (response.status_code, response.json()) == (200, content)
    assert world.balance(SHOP.address) == before + 1000


def test_cached_response_of_litestar_is_paid(world: World, selling: Selling) -> None:
    litestar_selling(world, selling)
    before = world.balance(SHOP.address)
    assert bought(selling, "/cached").json() == {"run": 1}
    assert selling.get("/cached").status_code == 402
    assert bought(selling, "/cached").json() == {"run": 1}
    assert world.balance(SHOP.address) == before + 2000
