"""No route of a merchant accepts another one's API key, finds its objects or names it.

The routes come from the route table, so a new route is covered. A route with an unknown parameter fails the test.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from foreseal.payments.api.reference.examples import SchemaExamples
from foreseal.payments.api.route import Route
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.api.routes.service import Monitoring, general_routes
from payments.api.service_harness import ServiceHarness
from payments.fake.contracts import PAYOUTS, TOKEN, selector
from payments.hosting import HostedMerchants, rows
from payments.shop import BUYER, SHOP

PUBLIC = general_routes(Monitoring(dict), ROUTES)
GUARDED = [route for route in ROUTES if route.role is not None]


@dataclass(frozen=True)
class Ids:
    """Objects of the merchant books."""

    order: str
    refund: str
    payout: str
    webhook: str
    api_key: str
    delivery: int
    transaction: str
    position: int

    def path(self, route: Route) -> str:
        """Return the path of a route with the id of an object of its kind."""
        kinds = {
            "/v1/orders/": self.order,
            "/v1/refunds/": self.refund,
            "/v1/payouts/": self.payout,
            "/v1/webhooks/": self.webhook,
            "/v1/api-keys/": self.api_key,
            "/v1/deliveries/": str(self.delivery),
        }
        id = next((value for prefix, value in kinds.items() if route.path.startswith(prefix)), None)
        values = {"transaction": self.transaction, "position": str(self.position)}
        return route.path.format(**values, **({} if id is None else {"id": id}))

    def texts(self) -> set[str]:
        return {self.order, self.refund, self.payout, self.webhook, self.api_key, self.transaction}


NOWHERE = Ids("nothing", "nothing", "0x" + "ab" * 32, "nothing", "nothing", 999_999, "0x" + "cd" * 32, 0)


@pytest.fixture
def ids(books: ServiceHarness) -> Ids:
    """Create one object of each kind at the merchant books."""
    webhook = books.made("/v1/webhooks", {"url": "https://books.example/hooks"})["webhook"]["id"]
    order = books.captured("order-of-books", 500)
    refund = books.made(f"/v1/orders/{order}/refunds", {"id": "refund-of-books", "amount": "5"})["refund"]["id"]
    transfer = bytes(12) + bytes.fromhex(SHOP.address[2:]) + (77).to_bytes(32, "big")
    books.chain.inject(BUYER.address.lower(), TOKEN, selector("transfer(address,uint256)") + transfer)
    books.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 100}))
    legs = [{"recipient": BUYER.address, "amount": "10"}]
    payout = books.made("/v1/payouts", {"recipients": legs})["payout"]["id"]
    books.settle()
    books.process.deliver()
    (lost,) = [each for each in books.get("/v1/unmatched-transfers")["items"] if each["amount"] == "77"]
    delivery = books.get("/v1/deliveries")["items"][0]["id"]
    api_key = books.made("/v1/api-keys", {"name": "of books", "role": "reader"})["api_key"]["id"]
    return Ids(order, refund, payout, webhook, api_key, delivery, lost["transaction_hash"], lost["position"])


def body_of(service: ServiceHarness, route: Route) -> Any:
    """Return a valid body of a POST from the document; None for a GET."""
    if route.method == "GET":
        return None
    operation = service.document["paths"][route.path]["post"]
    if "requestBody" not in operation:
        return {}
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return SchemaExamples(service.document["components"]["schemas"]).example(schema)


def body_text(response: httpx.Response, ids: Ids) -> str:
    """Return the body without the ids that the request contained."""
    text = response.text
    for id in sorted(ids.texts() | {str(ids.delivery)}, key=len, reverse=True):
        text = text.replace(id, "ID")
    return text


def test_every_route_rejects_the_key_of_another_merchant(
    hosted: HostedMerchants, books: ServiceHarness, games: ServiceHarness, ids: Ids
) -> None:
    before = rows(books)
    for route in GUARDED:
        path, body = f"/books{ids.path(route)}", body_of(games, route)
        response = hosted.request(route.method, path, body, key_of=games)
        assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key"), path
        assert response.json() == hosted.request(route.method, path, body, key_of=None).json()
    assert rows(books) == before


def test_no_route_finds_an_object_of_another_merchant(
    hosted: HostedMerchants, books: ServiceHarness, games: ServiceHarness, ids: Ids
) -> None:
    before, with_id = rows(books), 0
    for route in GUARDED:
        body = body_of(games, route)
        response = hosted.request(route.method, f"/games{ids.path(route)}", body, key_of=games)
        if "{" in route.path:
            with_id += 1
            assert response.status_code == 404, (route.path, response.text)
            missing = hosted.request(route.method, f"/games{NOWHERE.path(route)}", body, key_of=games)
            assert body_text(response, ids) == body_text(missing, NOWHERE)
        elif route.method == "GET":
            assert response.status_code == 200
            assert not any(text in response.text for text in ids.texts())
        assert "books" not in body_text(response, ids)
        # The owner finds it.
        if route.method == "GET":
            assert hosted.request("GET", f"/books{ids.path(route)}", key_of=books).status_code == 200, route.path
    assert with_id > 15
    assert rows(books) == before


def test_public_routes_name_no_other_merchant(hosted: HostedMerchants, ids: Ids, games: ServiceHarness) -> None:
    for route in PUBLIC:
        response = hosted.request(route.method, f"/games{route.path}", key_of=games)
        assert response.status_code in (200, 503)
        assert "books" not in response.text
        assert not any(text in response.text for text in ids.texts())


def test_equal_ids_and_keys_of_two_merchants_do_not_collide(
    hosted: HostedMerchants, books: ServiceHarness, games: ServiceHarness
) -> None:
    for service, amount in ((books, 100), (games, 200)):
        service.drawn = 0
        service.stored("same", amount)
    assert [each.get("/v1/orders/same")["order"]["amount"] for each in (books, games)] == ["100", "200"]
    assert hosted.request("POST", "/games/v1/orders/same/void", {}, key_of=games).status_code == 200
    states = [each.get("/v1/orders/same")["order"]["state"] for each in (books, games)]
    assert states == ["Stored, unused", "Voided offchain"]


def test_repeated_request_is_replayed_below_another_path(hosted: HostedMerchants, books: ServiceHarness) -> None:
    body = {"id": "moved", "payer": BUYER.address, "amount": "5"}
    made = books.made("/v1/orders", body, key="hosted 1")
    replayed = hosted.request("POST", "/books/v1/orders", body, key_of=books)
    assert replayed.headers["idempotency-replayed"] == "true"
    assert replayed.json() == made


def test_document_and_reference_refer_to_the_mounted_service(hosted: HostedMerchants, books: ServiceHarness) -> None:
    location = "https://pay.example/shop/books/v1/openapi.json"
    document = hosted.request("GET", "/books/v1/openapi.json", key_of=None).json()
    (server,) = document["servers"]
    base = urljoin(location, server["url"]).rstrip("/")
    assert base == "https://pay.example/shop/books"
    assert urljoin("https://pay.example/v1/openapi.json", server["url"]) == "https://pay.example/"
    orders = urlsplit(base).path.removeprefix("/shop") + "/v1/orders"
    assert hosted.request("GET", orders, key_of=books).status_code == 200
    page = hosted.request("GET", "/books/docs", key_of=None)
    assert 'href="v1/openapi.json"' in page.text
    assert urljoin("https://pay.example/books/docs", "v1/openapi.json").endswith("/books/v1/openapi.json")


def test_errors_name_the_requested_path_only(hosted: HostedMerchants) -> None:
    for path in ("/books/v1/nothing", "/other/v1/orders", "/"):
        error = hosted.request("GET", path, key_of=None).json()["error"]
        assert (error["code"], error["message"]) == ("no_such_path", f"{path} does not exist")
