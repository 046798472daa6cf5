"""Bodies of paid requests: none is read before its payment is verified, and all of them have a common bound."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import orjson
import pytest
from x402.schemas import PaymentPayload

from foreseal.payments.request_bodies import BodyMemory
from foreseal.payments.x402 import payloads
from foreseal.payments.x402.facilitator import app as facilitator_module
from foreseal.payments.x402.facilitator.app import facilitator_app
from foreseal.payments.x402.seller import bounded_bodies
from payments.held_bodies import HeldBodies
from payments.x402.channel_buying import Recorded, buy
from payments.x402.paying import demand, manual_payment, pay
from payments.x402.selling import ORIGIN, Selling, signed
from payments.x402.world import BUYERS, STRANGER, World, account

BUYER = BUYERS[14]
# No other test pays it.
PENNILESS = account(201)
# The bound is in memory, and no database has a part in it.
pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def selling(world: World, sqlite: Callable[[], str]) -> Selling:
    return Selling(world, sqlite())


class UnreadBody:
    """A body that records if a server reads it."""

    def __init__(self) -> None:
        self.is_read = False

    async def chunks(self) -> AsyncIterator[bytes]:
        self.is_read = True
        yield b"x"


def invalid_payments(selling: Selling) -> dict[str, tuple[int, dict[str, str]]]:
    """Return statuses and headers of requests without a valid payment."""
    required = selling.demand("/make", "POST")
    good = pay(BUYER, required)
    forged = good.model_copy(update={"payload": good.payload | {"signature": "0x" + "11" * 65}})
    return {
        "no payment": (402, {}),
        "malformed": (400, {"payment-signature": base64.b64encode(b"{}").decode()}),
        "forged": (402, signed(forged)),
        "another payee": (402, signed(pay(BUYER, required.model_copy(update={"pay_to": STRANGER.address})))),
        "expired": (402, signed(manual_payment(BUYER, required, valid_before=1))),
        "no money": (402, signed(manual_payment(PENNILESS, required))),
        "another resource": (402, signed(selling.bought(BUYER, "/report"))),
    }


def test_body_without_a_verified_payment_is_not_read(selling: Selling) -> None:
    for name, (status, headers) in invalid_payments(selling).items():
        body = UnreadBody()
        # A new client for each body: a transport reads what the application left.
        response = selling.run(lambda client, b=body, h=headers: client.post("/make", content=b.chunks(), headers=h))
        assert (name, response.status_code, body.is_read) == (name, status, False), response.text
    assert not selling.runs


def test_body_of_another_ones_payment_is_not_read(selling: Selling) -> None:
    payment = selling.bought(BUYER, "/report")
    assert selling.get("/report", payment).status_code == 200
    copied = payment.model_copy(update={"payload": payment.payload | {"signature": "0x" + "22" * 65}})
    body = UnreadBody()
    response = selling.run(
        lambda client: client.request("GET", "/report", content=body.chunks(), headers=signed(copied))
    )
    assert (response.status_code, body.is_read) == (402, False)


def paid_post(client: httpx.AsyncClient, payment: PaymentPayload, content: Any) -> Awaitable[httpx.Response]:
    return client.post("/make", content=content, headers=signed(payment))


def make_payment(selling: Selling) -> PaymentPayload:
    return pay(BUYER, selling.demand("/make", "POST"), ORIGIN + "/make")


def test_bodies_have_a_common_bound(selling: Selling) -> None:
    selling.app.bodies = BodyMemory(100)
    first, second = make_payment(selling), make_payment(selling)

    async def act(client: httpx.AsyncClient) -> tuple[httpx.Response, httpx.Response]:
        bodies = HeldBodies()
        waiting = asyncio.create_task(paid_post(client, first, bodies.body(b"x" * 80)))
        await bodies.wait(1)
        assert selling.app.bodies.held == 80
        refused = await paid_post(client, second, b"y" * 21)
        assert (await client.post("/make", content=b"z" * 101)).status_code == 402
        bodies.release()
        return refused, await waiting

    refused, served = selling.run(act)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert served.status_code == 200
    assert selling.run(lambda client: paid_post(client, second, b"y" * 21)).status_code == 200
    assert selling.app.bodies.held == 0
    assert selling.runs == {"/make": 2}


@pytest.mark.parametrize("fault", ["late", "large", "announced", "incomplete"])
def test_failed_body_leaves_no_grant(selling: Selling, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(bounded_bodies, "LARGEST", 100)
    payment = make_payment(selling)
    if fault == "late":
        monkeypatch.setattr(payloads, "BODY_SECONDS", 0.05)
    messages = {
        "large": [{"type": "http.request", "body": b"x" * 101, "more_body": False}],
        "incomplete": [{"type": "http.request", "body": b"x", "more_body": True}, {"type": "http.disconnect"}],
    }.get(fault, [])

    async def receive() -> Any:
        if not messages:
            await asyncio.Event().wait()
        return messages.pop(0)

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in signed(payment).items()]
    if fault == "announced":
        headers.append((b"content-length", b"101"))
    scope = {"type": "http", "method": "POST", "path": "/make", "query_string": b"", "headers": headers}
    asyncio.run(selling.app({**scope, "scheme": "http", "server": ("shop.test", 80), "root_path": ""}, receive, send))
    assert (sent[0]["status"], b"body: " in sent[1]["body"]) == (400, True)
    assert selling.app.bodies.held == 0
    assert selling.run(lambda client: paid_post(client, payment, b"y")).status_code == 200
    assert selling.runs == {"/make": 1}


class SpoilingVoucher(Recorded):
    """Sends a large body with the first voucher."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        header = request.headers.get("payment-signature")
        is_voucher = header is not None and orjson.loads(base64.b64decode(header))["payload"]["type"] == "voucher"
        if is_voucher and not any(each.payload["type"] == "voucher" for each in self.payments):
            headers = {"payment-signature": header, "host": request.headers["host"]}
            request = httpx.Request(request.method, request.url, headers=headers, content=b"x" * 101)
        return await super().handle_async_request(request)


def test_failed_body_frees_the_channel(selling: Selling, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel is reserved when its voucher is verified, so the next voucher would be rejected as busy."""
    monkeypatch.setattr(bounded_bodies, "LARGEST", 100)
    responses = asyncio.run(buy(SpoilingVoucher(selling.app), BUYER, 3, "/tick"))
    assert [each.status_code for each in responses] == [200, 400, 200], [each.text for each in responses]
    assert selling.runs == {"/tick": 2}


def test_facilitator_calls_have_a_common_bound(
    world: World, sqlite: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    required = demand(1000)
    call = {
        "x402Version": 2,
        "paymentPayload": orjson.loads(pay(BUYER, required).model_dump_json(by_alias=True)),
        "paymentRequirements": required.model_dump(by_alias=True),
    }
    body = orjson.dumps(call)
    monkeypatch.setattr(facilitator_module, "MAX_BODIES", len(body) + 10)
    app = facilitator_app(world.facilitator(sqlite()))

    async def calling() -> list[httpx.Response]:
        bodies = HeldBodies()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://facilitator.test") as client:
            slow = asyncio.create_task(client.post("/verify", content=bodies.body(body[:50], body[50:])))
            await bodies.wait(1)
            refused = await client.post("/verify", content=body)
            bodies.release()
            return [refused, await slow, await client.post("/settle", content=body)]

    refused, verified, settled = asyncio.run(calling())
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert (verified.json()["isValid"], settled.json()["success"]) == (True, True)
