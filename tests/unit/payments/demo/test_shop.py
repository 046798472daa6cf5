"""The demo shop without a service: its records, pages, limits and checks of requests."""

import asyncio
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import httpx
import orjson
import pytest

from foreseal.merchant import MerchantError
from foreseal.payments.api.webhook_signature import decode_secret, new_secret, sign
from foreseal.payments.demo.shop import DemoShop, ShopSettings
from foreseal.payments.demo.shop.order_book import EVENTS, MAX_ORDERS, OrderBook, OrderStage, ShopEvent
from foreseal.payments.demo.shop.pages import merchant_page, order_page
from foreseal.payments.demo.shop.products import PRODUCTS
from foreseal.payments.ledger.event_types import TYPES

MUG = PRODUCTS["mug"]
ORIGIN = "http://127.0.0.1:1"
NOW = 1_795_338_559.0
SECRET = new_secret(lambda size: bytes(range(size)))


def event(type: str, order: str = "mug-1", refund: str = "r", amount: int = MUG.price, **details: Any) -> bytes:
    kind = type.partition(".")[0]
    subject = {"object": kind, "id": order}
    if kind == "refund":
        subject = {"object": kind, "id": refund, "amount": str(amount), "order_id": order}
    return orjson.dumps({"id": "evt_1", "type": type, "data": {"object": subject, "details": details}})


def apply(book: OrderBook, *types: str) -> None:
    for type in types:
        book.apply(ShopEvent.parse(event(type, transaction="0xab")))


@pytest.fixture
def book() -> OrderBook:
    book = OrderBook(lambda: NOW)
    book.add("mug-1", MUG)
    return book


class ShopClient:
    """A blocking client of a shop in this process."""

    def __init__(self, shop: DemoShop) -> None:
        self._shop = shop

    def get(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._send("GET", path, **more))

    def post(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._send("POST", path, **more))

    def replace_refunder(self) -> "RecordingRefunder":
        """Replace the API of refunds."""
        refunder = RecordingRefunder()
        self._shop._refunder = refunder  # type: ignore[assignment]
        return refunder

    async def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._shop.app), base_url=ORIGIN) as client:
            return await client.request(method, path, **more)


@pytest.fixture
def client() -> Iterator[ShopClient]:
    # Nothing listens at the service's port, so a request that reaches it fails.
    shop = DemoShop(ShopSettings(ORIGIN, "http://127.0.0.1:9", "http://127.0.0.1:9", "c", "r", SECRET), lambda: NOW)
    shop._book.add("mug-1", MUG)
    yield ShopClient(shop)
    asyncio.run(shop.close())


def deliver(client: ShopClient, body: bytes, at: float = NOW) -> httpx.Response:
    headers = sign([decode_secret(SECRET)], "evt_1", int(at), body)
    return client.post("/webhooks", content=body, headers=headers)


def test_events_of_the_shop_are_types_of_the_service() -> None:
    assert set(EVENTS) <= set(TYPES)


def test_stages_follow_events_and_repetitions_change_nothing(book: OrderBook) -> None:
    order = book.find("mug-1")
    assert order is not None
    for types, stage in (
        (["order.captured"], OrderStage.PAID),
        (["order.captured", "order.confirmed"], OrderStage.SHIPPED),
        (["refund.created"], OrderStage.REFUND_SENT),
        (["refund.completed", "order.captured"], OrderStage.REFUNDED),
    ):
        apply(book, *types)
        assert order.stage is stage
    assert order.transaction == "0xab"
    assert order.has_ended


def test_parts_are_refunded_until_nothing_remains(book: OrderBook) -> None:
    order = book.find("mug-1")
    assert order is not None
    apply(book, "order.captured", "order.confirmed")
    versions = [order.version]
    for type, refund, amount, stage, rest in (
        ("refund.created", "a", 5_000_000, OrderStage.REFUND_SENT, 7_500_000),
        ("refund.completed", "a", 5_000_000, OrderStage.PARTLY_REFUNDED, 7_500_000),
        ("refund.created", "a", 5_000_000, OrderStage.PARTLY_REFUNDED, 7_500_000),
        ("refund.created", "b", 7_500_000, OrderStage.PARTLY_REFUNDED, 0),
        ("refund.completed", "b", 7_500_000, OrderStage.REFUNDED, 0),
    ):
        book.apply(ShopEvent.parse(event(type, refund=refund, amount=amount)))
        assert (order.stage, order.refundable, order.is_refundable) == (stage, rest, rest > 0)
        versions.append(order.version)
    assert len(set(versions)) == len(versions) - 1, "only the repeated event changes nothing"
    assert "Partly refunded" not in order_page(order, "http://node/explorer")


def test_partly_refunded_order_shows_both_amounts(book: OrderBook) -> None:
    order = book.find("mug-1")
    assert order is not None
    apply(book, "order.captured", "order.confirmed")
    book.apply(ShopEvent.parse(event("refund.completed", amount=5_000_000)))
    page = order_page(order, "http://node/explorer")
    assert "A part of your order is refunded" in page
    assert "Partly refunded: 5.00 USDC of 12.50 USDC" in page
    table = merchant_page([order], "http://node/explorer", "http://pay/dashboard")
    assert "Partly refunded: 5.00 USDC of 12.50 USDC" in table
    assert ">Refund the rest: 7.50 USDC</button>" in table


def test_merchant_page_names_the_amount_of_a_refund_and_links_the_dashboard(client: ShopClient) -> None:
    for type in ("order.captured", "order.confirmed"):
        deliver(client, event(type, transaction="0xab"))
    page = client.get("/merchant").text
    assert '<button aria-label="Refund 12.50 USDC of mug-1">Refund 12.50 USDC</button>' in page
    assert '<a href="http://127.0.0.1:9/dashboard">' in page


def test_blocked_refund_is_forgotten(book: OrderBook) -> None:
    order = book.find("mug-1")
    assert order is not None
    apply(book, "order.captured", "order.confirmed", "refund.created", "refund.blocked")
    assert (order.stage, order.is_refundable) == (OrderStage.SHIPPED, True)


@pytest.mark.parametrize("last", ["refund.blocked", "refund.completed"])
def test_events_of_a_refund_have_one_result_in_any_order(last: str) -> None:
    outcomes = set()
    for types in permutations(("refund.created", last, "refund.created", last)):
        book = OrderBook(lambda: NOW)
        order = book.add("mug-1", MUG)
        apply(book, "order.captured", "order.confirmed", *types)
        outcomes.add((order.version, order.stage, order.is_refundable))
    stage = OrderStage.SHIPPED if last == "refund.blocked" else OrderStage.REFUNDED
    assert [each[1:] for each in outcomes] == [(stage, last == "refund.blocked")]


class RecordingRefunder:
    """The API of refunds, which fails after it received a request, until it may answer."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.answers = False

    async def refund_order(self, order: str, *, id: str, amount: str, idempotency_key: str) -> Any:
        self.sent.append((id, amount, idempotency_key))
        if not self.answers:
            raise MerchantError("no answer")
        return {"refund": {"id": id, "amount": amount}}

    async def close(self) -> None:
        pass


def test_repeated_clicks_send_one_refund_and_a_blocked_one_is_sent_again(client: ShopClient) -> None:
    refunder = client.replace_refunder()
    for type in ("order.captured", "order.confirmed"):
        assert deliver(client, event(type, transaction="0xab")).status_code == 204

    def click() -> int:
        return client.post("/merchant/mug-1/refund", headers={"origin": ORIGIN}).status_code

    assert [click(), click()] == [502, 502]
    refunder.answers = True
    assert click() == 303
    assert click() == 409, "nothing remains to be refunded"
    assert len(refunder.sent) == 3
    assert len(set(refunder.sent)) == 1, "repeated clicks are one refund"
    (first, amount, _), *_ = refunder.sent
    assert deliver(client, event("refund.blocked", refund=first)).status_code == 204
    assert click() == 303
    second, again, key = refunder.sent[-1]
    assert second.startswith("mug-1-refund-")
    assert again == amount
    assert (second == first, key in {sent[2] for sent in refunder.sent[:-1]}) == (False, False)


def test_refund_has_another_id_after_a_restart(book: OrderBook) -> None:
    other = OrderBook(lambda: NOW).add("mug-1", MUG)
    order = book.find("mug-1")
    assert order is not None
    assert order.next_refund_id != other.next_refund_id


def test_reorganization_removes_the_payment_of_an_unshipped_order(book: OrderBook) -> None:
    order = book.find("mug-1")
    assert order is not None
    apply(book, "order.captured", "order.reopened")
    assert (order.stage, order.transaction) == (OrderStage.ORDERED, None)
    apply(book, "order.captured", "order.confirmed", "order.reopened")
    assert order.stage is OrderStage.SHIPPED


def test_oldest_orders_are_dropped(book: OrderBook) -> None:
    for number in range(MAX_ORDERS):
        book.add(f"mug {number}", MUG)
    assert book.find("mug-1") is None
    assert [each.id for each in book.newest(2)] == [f"mug {MAX_ORDERS - 1}", f"mug {MAX_ORDERS - 2}"]


def test_restored_orders_have_their_stages(book: OrderBook) -> None:
    base = {"metadata": {"product": "mug"}, "payment": None, "finality": None}
    paid = {"transaction_hash": "0xcd"}
    stored: Any = [
        base | {"id": "open", "state": "Drafted"},
        base | {"id": "expired", "state": "Expired"},
        base | {"id": "paid", "state": "Used, captured", "finality": "provisional", "payment": paid},
        base | {"id": "shipped", "state": "Used, captured", "finality": "final", "payment": paid},
        base | {"id": "refunded", "state": "Used, captured", "finality": "final", "payment": paid},
        base | {"id": "partly", "state": "Used, captured", "finality": "final", "payment": paid},
        base | {"id": "other", "state": "Drafted", "metadata": {}},
    ]
    price = str(MUG.price)
    refunds: Any = [
        {"id": "1", "order_id": "refunded", "state": "Complete", "amount": price},
        {"id": "2", "order_id": "shipped", "state": "Blocked", "amount": price},
        {"id": "3", "order_id": "partly", "state": "Complete", "amount": "1"},
        {"id": "4", "order_id": "partly", "state": "Complete", "amount": "2"},
    ]
    book.restore(stored, refunds)
    by_id = {each.id: each.stage.value for each in book.newest(10)}
    names = ("open", "expired", "paid", "shipped", "refunded", "partly")
    stages = ("ordered", "expired", "paid", "shipped", "refunded", "partly_refunded")
    assert by_id == {"mug-1": "ordered", **dict(zip(names, stages, strict=True))}


def test_values_of_orders_are_escaped_in_pages(book: OrderBook) -> None:
    hostile = "<script>alert(1)</script>"
    order = book.add(hostile, MUG)
    order.transaction = f'"{hostile}'
    order.times |= {OrderStage.PAID: NOW, OrderStage.SHIPPED: NOW}
    for page in (
        order_page(order, "http://node/explorer"),
        merchant_page([order], "http://node/explorer", "http://pay/d"),
    ):
        assert hostile not in page
        assert '"&' not in page.replace('="&', "")


def test_signed_webhook_moves_the_order(client: ShopClient) -> None:
    assert deliver(client, event("order.captured", transaction="0xab")).status_code == 204
    assert 'data-stage="paid"' in client.get("/orders/mug-1").text
    assert client.get("/orders/mug-1/version").text == "ordered-paid"


def test_forged_old_and_large_webhooks_are_rejected(client: ShopClient) -> None:
    body = event("order.captured")
    forged = sign([decode_secret(new_secret())], "evt_1", int(NOW), body)
    assert client.post("/webhooks", content=body, headers=forged).status_code == 401
    assert client.post("/webhooks", content=body).status_code == 401
    assert deliver(client, body, NOW - 3_600).status_code == 401
    assert deliver(client, b'{"data": []}').status_code == 400
    assert deliver(client, b"not JSON").status_code == 400
    assert deliver(client, b" " * 70_000).status_code == 413
    assert client.get("/orders/mug-1/version").text == "ordered"


@pytest.mark.parametrize("path", ["/products/mug/orders", "/products/mug/checkout", "/merchant/mug-1/refund"])
def test_requests_of_other_sites_are_rejected(client: ShopClient, path: str) -> None:
    for headers in ({}, {"origin": "null"}, {"origin": "http://other.test"}):
        assert client.post(path, headers=headers).status_code == 403
    assert client.get(path).status_code == 405


def test_unknown_and_unpaid_orders_are_not_refunded(client: ShopClient) -> None:
    headers = {"origin": ORIGIN}
    assert client.post("/merchant/mug-1/refund", headers=headers).status_code == 409
    assert client.post("/merchant/other/refund", headers=headers).status_code == 404
    assert client.post("/products/other/checkout", headers=headers).status_code == 404


def test_other_host_names_are_rejected(client: ShopClient) -> None:
    assert client.get("/merchant", headers={"host": "other.test"}).status_code == 400


def test_each_response_has_the_policy(client: ShopClient) -> None:
    for path in ("/", "/products/mug", "/orders/mug-1", "/merchant", "/static/shop.js", "/static/none", "/none"):
        headers = client.get(path).headers
        assert "default-src 'none'; script-src 'self' http://127.0.0.1:9" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    for name in ("../app.py", "..%2fapp.py"):
        assert client.get(f"/static/{name}").status_code == 404
