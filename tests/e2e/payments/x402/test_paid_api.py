"""Prices at handlers of Starlette and FastAPI: the same grants, responses and charges as prices in the table."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, TypeVar

import httpx
import pytest
from fastapi import Depends, FastAPI
from fastapi import Request as FastApiRequest
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from x402.schemas import PaymentPayload

from foreseal.payments.request_bodies import BodyMemory
from foreseal.payments.x402.seller.bounded_bodies import LARGEST
from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.paid_api import PaidApi
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.prices import Charge, Price, Scheme
from foreseal.payments.x402.seller.seller import Seller
from payments.x402.paying import pay, stock_client
from payments.x402.selling import ORIGIN, Broken, Selling, requirements_of, settlement, signed
from payments.x402.world import BUYERS, DOMAIN, FACILITATOR, SHOP, World

BUYER = BUYERS[11]
T = TypeVar("T")
JSON = {"content-type": "application/json"}


class Order(BaseModel):
    item: str
    count: int = 1


class Paying(Selling):
    """An application whose handlers declare their prices; `install` has to be called."""

    def __init__(self, world: World, url: str) -> None:
        super().__init__(world, url)
        settings = SellerSettings({}, SHOP.address, DOMAIN, origin=ORIGIN)
        self.seller = Seller(self.seller.ledger, world.node(), self.facilitator, settings)
        self.api = PaidApi(self.seller)

    def serve(self, app: Starlette) -> None:
        """Serve an application."""
        self.api.install(app)
        self.app = app  # type: ignore[assignment]

    def buy(self, path: str, **given: Any) -> httpx.Response:
        """Return the stock client's response."""

        async def buying() -> httpx.Response:
            async with self.paying(stock_client(BUYER)) as client:
                return await client.request(given.pop("method", "GET"), path, **given)

        return asyncio.run(buying())


@pytest.fixture
def paying(world: World, url: str) -> Paying:
    return Paying(world, url)


def fastapi_app(paying: Paying) -> FastAPI:
    """Return an application with each form of a paid handler; `runs` counts the handlers that ran."""
    app, api, runs = FastAPI(), paying.api, paying.runs

    @app.get("/async/{name}")
    @api.paid("$0.001")
    async def no_request(name: str, page: int = 1) -> dict[str, Any]:
        runs["/async"] += 1
        return {"name": name, "page": page}

    @app.get("/sync")
    @api.paid("$0.001")
    def synchronous() -> dict[str, str]:
        runs["/sync"] += 1
        return {"from": "sync"}

    @app.get("/request")
    @api.paid("$0.001")
    async def with_request(request: FastApiRequest) -> dict[str, str]:
        runs["/request"] += 1
        return {"payer": request.state.payment.payer}

    @app.get("/string")
    @api.paid("$0.001")
    async def with_annotation_in_text(asked: "Request", **rest: str) -> dict[str, str]:
        return {"payer": asked.state.payment.payer}

    @app.post("/order")
    @api.paid("$0.001")
    async def order(request: Order) -> Order:
        runs["/order"] += 1
        return request

    @app.get("/dependency")
    async def dependency(payment: Annotated[Charge, Depends(api.payment("0.001 USDC"))]) -> dict[str, Any]:
        runs["/dependency"] += 1
        return {"payer": payment.payer, "maximum": payment.maximum}

    @app.get("/upto/{units}")
    async def upto(units: int, payment: Annotated[Charge, Depends(api.payment(Price("$0.001", Scheme.UPTO)))]) -> str:
        payment.charge(units)
        return "charged"

    @app.get("/crash")
    @api.paid("$0.001")
    async def crash() -> None:
        runs["/crash"] += 1
        raise Broken

    @app.post("/free")
    async def free(request: FastApiRequest) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    return app


def order_payment(paying: Paying) -> PaymentPayload:
    """Return a payment for an order: FastAPI validates the body before the handler demands a payment."""
    demanded = paying.get("/order", method="POST", content=b'{"item": "tea"}', headers=JSON)
    return pay(BUYER, requirements_of(demanded), f"{ORIGIN}/order")


FORMS = {
    "/async/may?page=2": {"name": "may", "page": 2},
    "/sync": {"from": "sync"},
    "/request": {"payer": BUYER.address},
    "/string?rest=x": {"payer": BUYER.address},
    "/dependency": {"payer": BUYER.address, "maximum": 1000},
}


@pytest.mark.parametrize("path", FORMS)
def test_handler_of_each_form_is_paid(world: World, paying: Paying, path: str) -> None:
    paying.serve(fastapi_app(paying))
    before = world.balance(SHOP.address)
    demanded = paying.get(path)
    assert demanded.headers["cache-control"] == "no-store"
    assert requirements_of(demanded).amount == "1000"
    assert demanded.json()["resource"]["url"] == ORIGIN + path
    assert not paying.runs
    response = paying.buy(path)
    assert (response.status_code, response.json()) == (200, FORMS[path])
    assert response.headers["cache-control"] == "private"
    assert world.receipt(settlement(response).transaction)["status"] == "0x1"
    assert world.balance(SHOP.address) == before + 1000


def test_body_reaches_the_handler_once(world: World, paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    before = world.balance(SHOP.address)
    item = "x" * 300_000
    ordered = paying.buy("/order", method="POST", json={"item": item, "count": 3})
    assert ordered.json() == {"item": item, "count": 3}
    payment = order_payment(paying)

    async def chunks() -> AsyncIterator[bytes]:
        for chunk in ('{"item": "', item, '"}'):
            yield chunk.encode()

    streamed = paying.get("/order", payment, method="POST", content=chunks(), headers=JSON | signed(payment))
    assert streamed.json() == {"item": item, "count": 1}
    assert paying.runs == {"/order": 2}
    assert world.balance(SHOP.address) == before + 2000


def test_invalid_parameters_are_not_charged(world: World, paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    before = world.balance(SHOP.address)
    assert paying.get("/order", method="POST", content=b'{"count": "x"}', headers=JSON).status_code == 422
    assert paying.get("/upto/x").status_code == 402  # dependencies are solved first
    assert paying.buy("/upto/x").status_code == 422
    assert world.balance(SHOP.address) == before
    assert not paying.runs


def test_dependency_sets_the_charge(world: World, paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    before = world.balance(SHOP.address)
    assert settlement(paying.buy("/upto/300")).amount == "300"
    assert world.balance(SHOP.address) == before + 300
    assert paying.buy("/upto/1001").status_code == 409
    assert world.balance(SHOP.address) == before + 300


def test_payment_is_bound_to_the_request(world: World, paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    before = world.balance(SHOP.address)
    payment = paying.bought(BUYER, "/async/may")
    first = paying.get("/async/may", payment)
    assert (first.status_code, paying.get("/async/may", payment).content) == (200, first.content)
    for other in ("/async/june", "/async/may?page=2", "/sync", "/request"):
        assert paying.get(other, payment).json()["error"] == "payment_is_for_another_resource"
    assert paying.runs == {"/async": 1}
    assert world.balance(SHOP.address) == before + 1000


def test_eight_concurrent_copies_run_a_priced_handler_once(world: World, url: str) -> None:
    processes = [Paying(world, url), Paying(world, url)]
    for each in processes:
        each.serve(fastapi_app(each))
    payment, before = processes[0].bought(BUYER, "/sync"), world.balance(SHOP.address)
    sent = world.sent_by(FACILITATOR.address)

    async def copies() -> list[httpx.Response]:
        async with processes[0].client() as first, processes[1].client() as second:
            return await asyncio.gather(*(each.get("/sync", headers=signed(payment)) for each in (first, second) * 4))

    statuses = Counter(answer.status_code for answer in asyncio.run(copies()))
    assert set(statuses) <= {200, 409}
    assert statuses[200] >= 1
    assert sum(each.runs["/sync"] for each in processes) == 1
    assert (world.sent_by(FACILITATOR.address), world.balance(SHOP.address)) == (sent + 1, before + 1000)


def test_crash_of_a_priced_handler_leads_to_the_status_url(world: World, paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    payment, before = paying.bought(BUYER, "/crash"), world.balance(SHOP.address)
    for _ in range(2):
        response = paying.get("/crash", payment)
        assert response.status_code == 409
        assert paying.get(response.json()["status"]).json()["grant"] == "Held"
    assert paying.runs == {"/crash": 1}
    assert world.balance(SHOP.address) == before


def test_grant_is_stored_before_the_handler_runs(world: World, paying: Paying) -> None:
    app = FastAPI()
    states: list[str] = []

    @app.get("/report")
    @paying.api.paid("$0.001")
    def report() -> str:
        with paying.seller.ledger.database.reading() as tx:
            states.extend(tx.exec_driver_sql("select state from x402_grants").scalars())
        return "report"

    paying.serve(app)
    assert paying.buy("/report").status_code == 200
    assert states == ["Held"]


def test_free_handler_is_not_sold(paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    for size in (10, LARGEST + 1):
        response = paying.get("/free", method="POST", content=b"x" * size)
        assert (response.status_code, response.json()) == (200, {"bytes": size})
    assert paying.get("/none").status_code == 404


def test_body_over_the_limit_is_rejected(paying: Paying) -> None:
    paying.serve(fastapi_app(paying))
    payment = order_payment(paying)
    item = '{"item": "' + "x" * LARGEST + '"}'
    response = paying.get("/order", payment, method="POST", content=item, headers=JSON | signed(payment))
    assert (response.status_code, response.json()) == (400, {"error": f"body: must have at most {LARGEST} bytes"})
    assert not paying.runs


def test_body_of_the_first_pass_has_the_common_bound(paying: Paying) -> None:
    """The body of a request without a payment is not stored, as its demand needs none."""
    routes = PaidRoutes(fastapi_app(paying), paying.seller)
    paying.app = routes
    payment, body = order_payment(paying), b'{"item": "tea"}'
    held: list[int] = []
    routes.bodies = memory = BodyMemory(len(body) - 1)
    paying.seller.offers.start = recording(paying.seller.offers.start, lambda: held.append(memory.held))  # type: ignore[method-assign]
    assert paying.get("/order", method="POST", content=body, headers=JSON).status_code == 402
    response = paying.get("/order", payment, method="POST", content=body, headers=JSON | signed(payment))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    memory.maximum += 1
    response = paying.get("/order", payment, method="POST", content=body, headers=JSON | signed(payment))
    assert (response.status_code, response.json()["item"]) == (200, "tea")
    assert (held, memory.held) == ([0, 0, len(body)], 0)


def recording(act: Callable[[], Awaitable[T]], record: Callable[[], None]) -> Callable[[], Awaitable[T]]:
    """Return a function that records something before it acts."""

    async def recorded() -> T:
        record()
        return await act()

    return recorded


def starlette_app(paying: Paying) -> Starlette:
    """Return an application with the forms of Starlette's handlers, one of them in a mounted application."""

    @paying.api.paid("$0.001")
    async def function(request: Request) -> Response:
        return JSONResponse({"path": request.url.path})

    @paying.api.paid("$0.001")
    def unannotated(request):  # type: ignore[no-untyped-def]
        return JSONResponse({"path": request.url.path})

    class Endpoint(HTTPEndpoint):
        @paying.api.paid("$0.001", Price(2000, Scheme.UPTO))
        async def get(self, request: Request) -> Response:
            return JSONResponse({"path": request.url.path})

    # A mounted application answers by itself, and the base class of middleware runs it in another task.
    mounted = Starlette(routes=[Route("/report", function)])
    mounted.add_middleware(BaseHTTPMiddleware, dispatch=_with_header)
    routes = [Route("/function", function), Route("/unannotated", unannotated), Route("/class", Endpoint)]
    return Starlette(routes=[*routes, Mount("/api", mounted)])


async def _with_header(request: Request, call_next: Callable[[Request], Any]) -> Response:
    response: Response = await call_next(request)
    response.headers["x-from"] = "middleware"
    return response


@pytest.mark.parametrize("path", ["/function", "/unannotated", "/class", "/api/report"])
def test_starlette_handler_is_paid(world: World, paying: Paying, path: str) -> None:
    paying.serve(starlette_app(paying))
    before = world.balance(SHOP.address)
    accepted = paying.get(path).json()["accepts"]
    assert [each["amount"] for each in accepted] == (["1000", "2000"] if path == "/class" else ["1000"])
    response = paying.buy(path)
    assert response.json() == {"path": path}
    assert response.headers.get("x-from") == ("middleware" if path == "/api/report" else None)
    assert world.balance(SHOP.address) == before + 1000


def test_handler_without_the_middleware_never_runs(paying: Paying) -> None:
    app = fastapi_app(paying)
    paying.app = app  # type: ignore[assignment]
    for path in ("/sync", "/request", "/dependency"):
        with pytest.raises(RuntimeError, match=r"call PaidApi\.install\(app\)"):
            paying.get(path)
    assert not paying.runs


def test_handler_of_another_seller_never_runs(world: World, paying: Paying, tmp_path: Any) -> None:
    other = Paying(world, f"sqlite:///{tmp_path}/other.db")
    other.api.payment("$0.001")
    app = fastapi_app(paying)
    other.api.install(app)
    paying.app = app  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match=r"middleware of its seller"):
        paying.get("/sync")
    assert not paying.runs


def test_two_prices_of_a_handler_are_not_charged(world: World, paying: Paying) -> None:
    app = FastAPI()

    @app.get("/twice", dependencies=[Depends(paying.api.payment("$0.001"))])
    @paying.api.paid("$0.002")
    async def twice() -> str:
        paying.runs["/twice"] += 1
        return "twice"

    paying.serve(app)
    before = world.balance(SHOP.address)
    assert paying.buy("/twice").status_code == 409
    assert (world.balance(SHOP.address), paying.runs) == (before, {})


def test_invalid_price_of_a_handler_is_an_error(paying: Paying) -> None:
    for declare in (paying.api.paid, paying.api.payment):
        with pytest.raises(ValueError, match=r"^price: '0\.01' is not a price such as '\$0\.01', '0\.01 USDC'"):
            declare("0.01")
        with pytest.raises(ValueError, match=r"^price: a paid handler requires a price such as '\$0\.01'"):
            declare()
        with pytest.raises(ValueError, match=r"^authorizer: batch-settlement requires a key"):
            declare(Price("$0.01", Scheme.BATCH))
    assert paying.seller.offers.declared == []


def test_price_declared_late_must_be_settled_by_the_facilitator(paying: Paying) -> None:
    asyncio.run(paying.seller.offers.start())
    paying.seller.offers._kinds.discard("upto")
    with pytest.raises(ValueError, match=r"^prices: the facilitator does not settle upto on eip155:84532"):
        paying.api.payment(Price("$0.01", Scheme.UPTO))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("base-sepolia", "network: 'base-sepolia' is not an EVM chain such as 'eip155:84532'"),
        ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "is not an EVM chain"),
        ("eip155:31337", "network: eip155:31337 has no default token in the package x402: use PaidApi"),
    ],
)
def test_network_without_a_default_token_is_an_error(network: str, message: str) -> None:
    urls = {"node": "http://127.0.0.1:1", "facilitator": "http://127.0.0.1:1", "database": "sqlite://"}
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        PaidApi.connect(SHOP.address, network=network, **urls)
