"""The router of merchants: paths, limits and the summary of all."""

import asyncio
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from foreseal.payments.hosting.process_app import build_process_app, summarize
from foreseal.payments.hosting.router import MerchantRouter
from foreseal.payments.metrics import MetricGroups, SampledGauge, SampledValue

OK = {"status": "ok", "reasons": [], "payee": {"address": "0xA"}}
LOW = {"status": "degraded", "reasons": [{"code": "payee_low", "message": "m"}]}
DOWN = {"status": "unhealthy", "reasons": [{"code": "node_unreachable", "message": "m"}]}


class Echo:
    """An application that returns its name and the scope's paths, once it may."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.waiting = 0
        self.third = asyncio.Event()
        """Set by the third request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.waiting += 1
        if self.waiting == 3:
            self.third.set()
        await self.may_answer.wait()
        request = Request(scope)
        await PlainTextResponse(f"{self.name} {scope['root_path']} {request.url.path}")(scope, receive, send)


class Hosted:
    """A router of two merchants."""

    def __init__(self, max_requests: int = 10, max_shoppers: int = 10) -> None:
        self.books, self.games = Echo("books"), Echo("games")
        process = build_process_app(lambda: {"books": OK, "games": DOWN}, lambda: "a 1\n")
        merchants = {"books": self.books, "games": self.games}
        self.router = MerchantRouter(merchants, process, max_requests, max_shoppers)
        transport = httpx.ASGITransport(self.router)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://pay.test")

    def rejected(self, merchant: str, kind: str = "requests") -> float | None:
        """Return the number of a merchant's rejected requests."""
        name = f"foreseal_pay_{kind}_rejected_total"
        return self.router.registry.get_sample_value(name, {"merchant": merchant})


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/books/v1/orders", "books /books /books/v1/orders"),
        ("/games/docs", "games /games /games/docs"),
        ("/books", "books /books /books"),
        ("/books/", "books /books /books/"),
        ("/books/games/x", "books /books /books/games/x"),
        ("/%62ooks/x", "books /books /books/x"),
    ],
)
def test_first_segment_selects_the_merchant(path: str, text: str) -> None:
    async def run() -> None:
        response = await Hosted().client.get(path)
        assert response.text == text

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/", "/other/v1/orders", "/v1/orders", "//books/x", "/Books/x", "/booksx", "/docs"])
def test_other_paths_do_not_exist_and_name_no_merchant(path: str) -> None:
    async def run() -> None:
        response = await Hosted().client.get(f"http://pay.test{path}")
        assert (response.status_code, response.json()["error"]["code"]) == (404, "no_such_path")
        assert "games" not in response.text

    asyncio.run(run())


def test_process_supports_only_reading() -> None:
    async def run() -> None:
        response = await Hosted().client.post("/healthz")
        assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")

    asyncio.run(run())


def test_requests_beyond_the_limit_of_one_merchant_spare_the_other() -> None:
    async def run() -> None:
        hosted = Hosted(max_requests=3)
        hosted.books.may_answer.clear()
        waiting = [asyncio.create_task(hosted.client.get("/books/x")) for _ in range(3)]
        await hosted.books.third.wait()
        rejected = await hosted.client.get("/books/x")
        assert (rejected.status_code, rejected.json()["error"]["code"]) == (503, "overloaded")
        assert rejected.headers["retry-after"] == "1"
        assert (await hosted.client.get("/games/x")).status_code == 200
        assert (await hosted.client.get("/healthz")).status_code == 200
        hosted.books.may_answer.set()
        assert {response.status_code for response in await asyncio.gather(*waiting)} == {200}
        assert (await hosted.client.get("/books/x")).status_code == 200
        assert (hosted.rejected("books"), hosted.rejected("games")) == (1, 0)

    asyncio.run(run())


def test_rejections_have_a_series_before_the_first_one() -> None:
    text = generate_latest(Hosted().router.registry).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for name in ("foreseal_pay_requests_rejected", "foreseal_pay_shopper_requests_rejected"):
        values = {each.labels["merchant"]: each.value for each in families[name].samples}
        assert values == {"books": 0, "games": 0}


@pytest.mark.parametrize("path", ["/checkout", "/checkout/a", "/checkout/static/lib/rpc.js", "/v1/checkout/a/payment"])
def test_requests_of_shoppers_use_up_only_their_own_share(path: str) -> None:
    async def run() -> None:
        hosted = Hosted(max_requests=1, max_shoppers=3)
        hosted.books.may_answer.clear()
        waiting = [asyncio.create_task(hosted.client.get(f"/books{path}")) for _ in range(3)]
        await hosted.books.third.wait()
        hosted.books.may_answer.set()
        rejected = await hosted.client.get(f"/books{path}")
        assert (rejected.status_code, rejected.json()["error"]["code"]) == (503, "overloaded")
        assert (await hosted.client.get("/books/v1/orders")).status_code == 200
        assert (await hosted.client.get(f"/games{path}")).status_code == 200
        assert {response.status_code for response in await asyncio.gather(*waiting)} == {200}
        assert (hosted.rejected("books"), hosted.rejected("books", "shopper_requests")) == (0, 1)

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/v1/checkouts", "/checkout-link", "/v1/orders/checkout", "//checkout", "/Checkout"])
def test_similar_paths_count_in_the_share_of_the_merchant(path: str) -> None:
    async def run() -> None:
        hosted = Hosted(max_requests=0)
        assert (await hosted.client.get(f"http://pay.test/books{path}")).status_code == 503
        assert hosted.rejected("books") == 1

    asyncio.run(run())


def test_failed_request_frees_its_share() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("defect")

    async def run() -> None:
        router = MerchantRouter({"books": fails}, fails, 1, 1)
        transport = httpx.ASGITransport(router)
        async with httpx.AsyncClient(transport=transport, base_url="http://pay.test") as client:
            for _ in range(3):
                with pytest.raises(RuntimeError, match="defect"):
                    await client.get("/books/x")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("healths", "status", "code"),
    [
        ({"books": OK, "games": OK}, "ok", 200),
        ({"books": OK, "games": LOW}, "degraded", 200),
        ({"books": DOWN, "games": LOW}, "unhealthy", 200),
        ({"books": DOWN, "games": DOWN}, "unhealthy", 503),
    ],
)
def test_health_is_the_worst_and_fails_only_if_nothing_works(
    healths: dict[str, dict[str, Any]], status: str, code: int
) -> None:
    async def run() -> None:
        transport = httpx.ASGITransport(build_process_app(lambda: healths, str))
        async with httpx.AsyncClient(transport=transport, base_url="http://pay.test") as client:
            response = await client.get("/healthz")
        assert (response.status_code, response.json()["status"]) == (code, status)
        assert response.json() == summarize(healths)
        for name, health in healths.items():
            assert response.json()["merchants"][name] == {key: health[key] for key in ("status", "reasons")}

    asyncio.run(run())


def test_metrics_of_merchants_form_one_family_with_a_label() -> None:
    groups: dict[str | None, CollectorRegistry] = {}
    for number, name in enumerate(("books", "games"), 1):
        registry = groups[name] = CollectorRegistry()
        Counter("n_total", "Number.", ("kind",), registry=registry).labels('a "quoted" kind').inc(number)
        Histogram("t_seconds", "Time.", registry=registry, buckets=(1.0,)).observe(0.5)
        registry.register(SampledGauge("up", "Up.", lambda number=number: [SampledValue(number)]))  # type: ignore[misc]
    text = MetricGroups(groups).text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert text.count("# TYPE") == len(families) == 3
    values = {(each.labels["merchant"], each.labels["kind"]): each.value for each in families["n"].samples}
    assert values == {("books", 'a "quoted" kind'): 1, ("games", 'a "quoted" kind'): 2}
    assert {each.labels["merchant"]: each.value for each in families["up"].samples} == {"books": 1, "games": 2}
    buckets = [each.labels for each in families["t_seconds"].samples if each.name == "t_seconds_bucket"]
    assert buckets == [{"merchant": name, "le": le} for name in groups for le in ("1.0", "+Inf")]
