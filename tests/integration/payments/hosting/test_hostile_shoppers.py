"""A hostile shopper leaves other shoppers and the API of the merchant answered."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from foreseal.payments.api.checkout.limits import ADDRESS_RATE, SIGNATURE_RATE, ShopperLimits
from foreseal.payments.api.roles import Role
from payments.api.service_harness import ServiceHarness
from payments.hosting import HostedMerchants
from payments.people import BUYERS

CHECKOUT = """
[checkout]
public_url = "https://pay.shop.example/books"
merchant_name = "Book shop"
"""
HOSTILE, HONEST = "203.0.113.9", "198.51.100.7"
BUYER, OTHER, _ = BUYERS
AUTHORIZATION = "/books/v1/checkout/{}/authorization"


@pytest.fixture
def shop(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    """Provide a merchant with a checkout page."""
    one = ServiceHarness(url, tmp_path, CHECKOUT)
    yield one
    one.close()


@pytest.fixture
def slow_bodies_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for bodies as long as a test needs."""
    monkeypatch.setattr("foreseal.payments.api.route.BODY_SECONDS", 600.0)


class SlowBodies:
    """Bodies of requests that end when the test releases them."""

    def __init__(self) -> None:
        self.begun = 0
        self._all_begun = asyncio.Event()
        self._released = asyncio.Event()

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the begin of a body, and its end after the release."""
        self.begun += 1
        if self.begun == SIGNATURE_RATE.burst:
            self._all_begun.set()
        yield b"{"
        await self._released.wait()
        yield b"}"

    async def wait(self) -> None:
        """Wait until as many bodies are read as an order may have."""
        await self._all_begun.wait()

    def release(self) -> None:
        """End all bodies."""
        self._released.set()


class Visit:
    """A client at one address, with the client secret of one order."""

    def __init__(self, hosted: HostedMerchants, address: str, secret: str) -> None:
        transport = httpx.ASGITransport(hosted.app, client=(address, 1))
        headers = {"foreseal-client-secret": secret}
        self.client = httpx.AsyncClient(transport=transport, base_url="http://pay.test", headers=headers, timeout=60)

    async def order(self, id: str) -> httpx.Response:
        return await self.client.get(f"/books/v1/checkout/{id}")

    async def authorize(self, id: str, signature: str) -> httpx.Response:
        body = {"signature": signature, "payer": BUYER.address}
        return await self.client.post(AUTHORIZATION.format(id), json=body)


class AbandonedPage:
    """A page that is closed while its request waits."""

    def __init__(self, hosted: HostedMerchants, address: str, request: httpx.Request) -> None:
        self._hosted = hosted
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "server": ("pay.test", 80),
            "client": (address, 1),
            "method": request.method,
            "path": request.url.path,
            "raw_path": request.url.raw_path,
            "root_path": "",
            "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        self._messages = iter([{"type": "http.request", "body": b"", "more_body": False}])
        self.waits = asyncio.Event()
        """Set when the server has begun to wait for the client."""
        self.closed = asyncio.Event()
        self.status: int | None = None

    async def load(self) -> None:
        """Send the request, and disconnect when `closed` is set."""
        await self._hosted.app(self._scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        message = next(self._messages, None)
        if message is None:
            self.waits.set()
            await self.closed.wait()
        return message or {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)


def place(shop: ServiceHarness, id: str) -> str:
    """Create an order, and return its client secret."""
    made = shop.made("/v1/orders", {"id": id, "amount": "500", "auto_capture": True}, role=Role.CASHIER)
    return urlsplit(made["checkout_url"]).fragment


async def create_order(hosted: HostedMerchants, shop: ServiceHarness, id: str) -> httpx.Response:
    """Send a request of the merchant, at the address of the hostile shopper."""
    transport = httpx.ASGITransport(hosted.app, client=(HOSTILE, 1))
    headers = {"authorization": f"Bearer {shop.keys[Role.CASHIER]}", "idempotency-key": f"made {id}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://pay.test") as client:
        return await client.post("/books/v1/orders", json={"id": id, "amount": "5"}, headers=headers)


def tasks(requests: list[Any]) -> list[asyncio.Task[httpx.Response]]:
    return [asyncio.create_task(each) for each in requests]


async def statuses(requests: list[Any]) -> Counter[int]:
    return Counter(response.status_code for response in await asyncio.gather(*requests))


@pytest.mark.usefixtures("slow_bodies_are_allowed")
def test_hostile_shopper_leaves_other_shoppers_and_the_api_answered(shop: ServiceHarness) -> None:
    hostile_secret, secret = place(shop, "hostile"), place(shop, "honest")
    signature, wrong = shop.signature("honest", BUYER), shop.signature("hostile", OTHER)
    hosted = HostedMerchants({"books": shop})
    path = AUTHORIZATION.format("hostile")

    async def run() -> None:
        hostile, honest = Visit(hosted, HOSTILE, hostile_secret), Visit(hosted, HONEST, secret)
        bodies = SlowBodies()
        slow = tasks([hostile.client.post(path, content=bodies.body()) for _ in range(SIGNATURE_RATE.burst)])
        await bodies.wait()
        version = (await hostile.order("hostile")).json()["order"]["version"]
        query = f"/books/v1/checkout/hostile?version={version}&wait_seconds=25"
        waits = tasks([hostile.client.get(query) for _ in range(ShopperLimits.MAX_ORDER_WAITS + 4)])
        rejected: set[asyncio.Task[httpx.Response]] = set()
        while len(rejected) < 4:
            rejected |= (await asyncio.wait(set(waits) - rejected, return_when=asyncio.FIRST_COMPLETED))[0]
        assert {each.result().status_code for each in rejected} == {429}
        # The order has no more attempts, so its wrong signatures and large bodies are not even read.
        assert await statuses([hostile.authorize("hostile", wrong) for _ in range(5)]) == {429: 5}
        large = [hostile.client.post(path, content=b"[" * 1_000_000) for _ in range(5)]
        assert await statuses(large) == {429: 5}
        guesses = {"foreseal-client-secret": "cs_guess"}
        # The budget refills during the flood, however slow the machine is.
        flood = [
            hostile.client.get("/books/v1/checkout/honest", headers=guesses) for _ in range(2 * ADDRESS_RATE.burst)
        ]
        counts = await statuses(flood)
        assert counts.keys() == {404, 429}
        assert counts[429] > 0

        assert (await honest.order("honest")).json()["order"]["status"] == "open"
        assert (await create_order(hosted, shop, "made")).status_code == 201
        assert (await honest.client.get(f"/books/v1/checkout/honest/payment?payer={BUYER.address}")).status_code == 200
        assert (await honest.authorize("honest", signature)).status_code == 200

        bodies.release()
        assert await statuses(slow) == {400: SIGNATURE_RATE.burst}
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)

    asyncio.run(run())
    assert shop.order("honest").payer == BUYER.address
    assert shop.order("hostile").payer is None


def test_closed_pages_do_not_use_up_the_waits_of_their_address(
    shop: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ShopperLimits, "MAX_ADDRESS_WAITS", 1)
    secret = place(shop, "a")
    hosted = HostedMerchants({"books": shop})

    async def run() -> None:
        visit = Visit(hosted, HONEST, secret)
        version = (await visit.order("a")).json()["order"]["version"]
        query = f"/books/v1/checkout/a?version={version}&wait_seconds=25"
        request = visit.client.build_request("GET", query)
        for _ in range(3):
            page = AbandonedPage(hosted, HONEST, request)
            waiting = asyncio.create_task(page.load())
            await page.waits.wait()
            assert (await visit.client.get(query)).status_code == 429
            page.closed.set()
            await waiting
            assert page.status == 204

    asyncio.run(run())


@pytest.mark.usefixtures("slow_bodies_are_allowed")
def test_api_is_answered_while_shoppers_have_used_up_their_share(shop: ServiceHarness) -> None:
    secret = place(shop, "a")
    hosted = HostedMerchants({"books": shop}, max_requests=1, max_shoppers=SIGNATURE_RATE.burst)

    async def run() -> None:
        visit, bodies = Visit(hosted, HOSTILE, secret), SlowBodies()
        path = AUTHORIZATION.format("a")
        slow = tasks([visit.client.post(path, content=bodies.body()) for _ in range(SIGNATURE_RATE.burst)])
        await bodies.wait()
        assert (await Visit(hosted, HONEST, secret).order("a")).status_code == 503
        assert (await create_order(hosted, shop, "made")).status_code == 201
        bodies.release()
        assert await statuses(slow) == {400: SIGNATURE_RATE.burst}
        assert (await Visit(hosted, HONEST, secret).order("a")).status_code == 200

    asyncio.run(run())


def test_body_that_does_not_arrive_is_rejected(shop: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreseal.payments.api.route.BODY_SECONDS", 0.05)
    secret = place(shop, "a")
    hosted = HostedMerchants({"books": shop})

    async def run() -> httpx.Response:
        visit = Visit(hosted, HOSTILE, secret)
        return await visit.client.post(AUTHORIZATION.format("a"), content=SlowBodies().body())

    response = asyncio.run(run())
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_body")
    assert "did not arrive" in response.json()["error"]["message"]
