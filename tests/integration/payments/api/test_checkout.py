"""The checkout of an order by a shopper: secrets, keys, origins, limits, and payments."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from sqlalchemy import func, select

from foreseal.payments.api.checkout.limits import ShopperLimits
from foreseal.payments.api.models import RequestRecord
from foreseal.payments.api.roles import Role
from payments.api.service_harness import ServiceHarness
from payments.people import BUYERS

SHOP = "https://shop.example"
PAGE = "https://pay.shop.example"
CHECKOUT = f"""
[checkout]
public_url = "{PAGE}"
merchant_name = "Book shop"
origins = ["{SHOP}"]
network_name = "Test chain"
rpc_url = "https://rpc.shop.example"
"""
BUYER, OTHER, THIRD = BUYERS


@pytest.fixture
def service(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    """Provide a merchant's service with a checkout page."""
    one = ServiceHarness(url, tmp_path, CHECKOUT)
    yield one
    one.close()


def place(service: ServiceHarness, id: str = "a", **more: Any) -> str:
    """Create an order without a payer that is captured once it is signed. Return its client secret."""
    body = {"id": id, "amount": "500", "auto_capture": True} | more
    link: str = service.made("/v1/orders", body, role=Role.CASHIER)["checkout_url"]
    return urlsplit(link).fragment


def shop_request(
    service: ServiceHarness, method: str, path: str, secret: str, body: Any = None, **headers: str
) -> httpx.Response:
    """Send a shopper's request, without an API key and without an Idempotency-Key."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"foreseal-client-secret": secret, "idempotency-key": "", **named}
    return service.request(method, path, body, role=None, headers=sent)


def view(service: ServiceHarness, id: str, secret: str) -> Any:
    response = shop_request(service, "GET", f"/v1/checkout/{id}", secret)
    assert response.status_code == 200, response.text
    return response.json()["order"]


def authorize(service: ServiceHarness, id: str, secret: str, buyer: Any = BUYER) -> httpx.Response:
    body = {"signature": service.signature(id, buyer), "payer": buyer.address}
    return shop_request(service, "POST", f"/v1/checkout/{id}/authorization", secret, body)


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_shopper_pays_an_order_without_a_payer(service: ServiceHarness) -> None:
    secret = place(service, metadata={"description": "Three books", "margin": "secret"})
    shown = view(service, "a", secret)
    assert (shown["status"], shown["payer"], shown["amount"]) == ("open", None, "500")
    assert (shown["merchant_name"], shown["description"]) == ("Book shop", "Three books")
    assert (shown["network"]["name"], shown["network"]["rpc_url"]) == ("Test chain", "https://rpc.shop.example")
    assert "margin" not in str(shown)
    payment = shop_request(service, "GET", f"/v1/checkout/a/payment?payer={BUYER.address}", secret).json()
    assert (payment["typed_data"]["message"]["from"], payment["is_sufficient"]) == (BUYER.address, True)
    done = authorize(service, "a", secret)
    assert (done.status_code, done.json()["order"]["payer"], done.json()["obstacle"]) == (200, BUYER.address, None)
    assert done.json()["order"]["status"] == "processing"
    # The same signature again changes nothing; another account is too late.
    assert authorize(service, "a", secret).status_code == 200
    assert code(authorize(service, "a", secret, OTHER)) == (409, "already_authorized")
    service.chain.mine(1)
    service.run_pass()
    paid = view(service, "a", secret)
    assert (paid["status"], len(paid["transaction_hash"])) == ("preconfirmed", 66)
    assert code(authorize(service, "a", secret, OTHER)) == (409, "already_paid")
    service.settle()
    assert view(service, "a", secret)["status"] == "final"


def test_wrong_secret_of_an_order_is_an_unknown_order(service: ServiceHarness) -> None:
    secret, other = place(service), place(service, "b")
    assert secret != other
    answers = []
    for id, wrong in (("a", other), ("a", ""), ("a", secret[:-1]), ("a", secret + "x"), ("a", "é"), ("none", secret)):
        for method, path in (("GET", ""), ("GET", f"/payment?payer={BUYER.address}"), ("POST", "/authorization")):
            response = service.process.request(
                method, f"/v1/checkout/{id}{path}", headers={"foreseal-client-secret": wrong.encode()}
            )
            answers.append((response.status_code, response.json()["error"]["message"]))
    assert set(answers) == {(404, "no order has this id and client secret")}
    assert service.order("a").payer is None


def test_payment_link_has_the_secret_in_its_fragment_only(service: ServiceHarness) -> None:
    secret = place(service, "a ?#%b")
    link = service.get("/v1/orders/a%20%3F%23%25b/checkout-link", role=Role.CASHIER)["checkout_url"]
    parts = urlsplit(link)
    assert (parts.fragment, unquote(parts.path), parts.query) == (secret, "/checkout/a ?#%b", "")
    assert service.request("GET", "/v1/orders/a/checkout-link", role=Role.READER).status_code == 403
    assert service.request("GET", "/v1/orders/a/checkout-link", role=Role.CASHIER).status_code == 404
    # Each process of the service, and each restart, has the same key.
    assert service.another().backend.checkout.secrets.secret("a ?#%b") == secret  # type: ignore[union-attr]
    dots = service.made("/v1/orders", {"id": "..", "amount": "1"}, role=Role.CASHIER)
    assert dots["checkout_url"] is None


def test_publishable_key_has_no_other_right(service: ServiceHarness) -> None:
    secret, tried = place(service), 0
    for path, item in service.document["paths"].items():
        for method, operation in item.items():
            if not operation["security"]:
                continue
            concrete = path.replace("{transaction}", "0x" + "00" * 32).replace("{position}", "0").replace("{id}", "a")
            if {"client_secret": []} in operation["security"]:
                alone = service.request(method.upper(), concrete, role=Role.PUBLISHABLE)
                assert code(alone) == (404, "not_found"), path
                continue
            headers = {"foreseal-client-secret": secret}
            response = service.request(method.upper(), concrete, role=Role.PUBLISHABLE, headers=headers)
            assert code(response) == (403, "insufficient_role"), path
            tried += 1
    assert tried > 25
    assert service.keys[Role.PUBLISHABLE].startswith("pk_")
    for role in Role:
        response = service.request("GET", "/v1/checkout/a", role=role, headers={"foreseal-client-secret": secret})
        assert response.status_code == (200 if role is Role.PUBLISHABLE else 403)


def test_only_configured_origins_may_call_with_a_publishable_key(service: ServiceHarness) -> None:
    secret, key = place(service), service.keys[Role.PUBLISHABLE]
    path = "/v1/checkout/a"
    for origin in ("https://evil.example", "null", "https://shop.example.evil.example", "http://shop.example"):
        response = shop_request(service, "GET", path, secret, origin=origin, authorization=f"Bearer {key}")
        assert code(response) == (403, "origin_not_allowed")
        assert "access-control-allow-origin" not in response.headers
        refused = service.process.request("OPTIONS", path, headers={"origin": origin})
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (403, False)
    assert code(shop_request(service, "GET", path, secret, origin=SHOP)) == (401, "invalid_api_key")
    response = shop_request(service, "GET", path, secret, origin=SHOP, authorization=f"Bearer {key}")
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, SHOP)
    assert response.headers["vary"] == "origin"
    assert "access-control-allow-credentials" not in response.headers
    assert shop_request(service, "GET", path, secret, origin=PAGE).status_code == 200
    preflight = service.process.request("OPTIONS", path, headers={"origin": SHOP})
    assert preflight.headers["access-control-allow-headers"] == "authorization, content-type, foreseal-client-secret"
    assert service.process.request("OPTIONS", "/v1/orders", headers={"origin": SHOP}).status_code == 405


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "javascript:alert(1)",
        "https://shop.example.evil.example/",
        "https://shop.example@evil.example/",
        "https://shop.example\\@evil.example/",
        "//evil.example",
        "https:shop.example/",
        "http://shop.example/",
        "https://shop.example:8443/",
        "https://shop.example/\nx",
        "/thanks",
    ],
)
def test_return_to_another_origin_is_rejected(service: ServiceHarness, target: str) -> None:
    for name in ("success_url", "cancel_url"):
        error = service.refused(400, "invalid_value", "/v1/orders", {"amount": "1", name: target}, role=Role.CASHIER)
        assert error["argument"] == name


def test_return_urls_are_shown_while_their_origin_is_configured(service: ServiceHarness) -> None:
    urls = {"success_url": f"{SHOP}/thanks?order=1", "cancel_url": f"{PAGE}/cart"}
    secret = place(service, **urls)
    assert {name: view(service, "a", secret)[name] for name in urls} == urls
    service.configure(CHECKOUT.replace(SHOP, "https://new.example"))
    service.restart()
    shown = view(service, "a", secret)
    assert (shown["success_url"], shown["cancel_url"]) == (None, urls["cancel_url"])


def test_invalid_signatures_store_nothing_and_reach_no_queue(service: ServiceHarness) -> None:
    secret = place(service)
    with service.database.reading() as tx:
        before = tx.execute(select(func.count()).select_from(RequestRecord)).scalar_one()
    path = "/v1/checkout/a/authorization"
    for signature, payer in ((service.signature("a", OTHER), BUYER), ("0x" + "11" * 65, BUYER), ("0x", BUYER)):
        body = {"signature": signature, "payer": payer.address}
        assert code(shop_request(service, "POST", path, secret, body)) == (422, "invalid_signature")
    payee = service.order("a").payee
    body = {"signature": "0x11", "payer": payee}
    assert code(shop_request(service, "POST", path, secret, body)) == (400, "invalid_value")
    large = {"signature": "0x" + "11" * 12_000, "payer": payee}
    assert code(shop_request(service, "POST", path, secret, large)) == (413, "body_too_large")
    with service.database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(RequestRecord)).scalar_one() == before
    assert service.order("a").payer is None


def test_order_of_another_payer_or_canceled_is_not_payable(service: ServiceHarness) -> None:
    bound = place(service, "bound", payer=OTHER.address)
    assert code(authorize(service, "bound", bound)) == (409, "payer_mismatch")
    payment = shop_request(service, "GET", f"/v1/checkout/bound/payment?payer={BUYER.address}", bound)
    assert code(payment) == (409, "payer_mismatch")
    canceled = place(service, "canceled")
    service.made("/v1/orders/canceled/void", role=Role.CASHIER)
    assert view(service, "canceled", canceled)["status"] == "canceled"
    assert code(authorize(service, "canceled", canceled)) == (409, "order_canceled")


def test_expired_order_is_not_payable(service: ServiceHarness) -> None:
    secret = place(service, valid_seconds=600)
    service.offset += 600
    assert view(service, "a", secret)["status"] == "expired"
    assert code(authorize(service, "a", secret)) == (409, "order_expired")


def test_shopper_without_funds_sees_the_obstacle(service: ServiceHarness) -> None:
    secret = place(service)
    service.chain.change(lambda state: state.balances.update({BUYER.address.lower(): 499}))
    payment = shop_request(service, "GET", f"/v1/checkout/a/payment?payer={BUYER.address}", secret).json()
    assert (payment["balance"], payment["is_sufficient"]) == ("499", False)
    done = authorize(service, "a", secret).json()
    assert (done["obstacle"], done["order"]["is_delayed"]) == ("insufficient_balance", True)


def test_attempts_for_one_order_leave_other_orders_alone(service: ServiceHarness) -> None:
    secret, other = place(service), place(service, "b")
    answers = [authorize(service, "a", secret, THIRD if number else OTHER) for number in range(8)]
    assert [answer.status_code for answer in answers] == [200, *[409] * 5, 429, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert authorize(service, "b", other).status_code == 200
    assert service.request("GET", "/v1/orders/a").status_code == 200


def test_wait_returns_at_a_change_and_waits_are_bounded(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = place(service)
    version = view(service, "a", secret)["version"]
    monkeypatch.setattr(ShopperLimits, "MAX_ORDER_WAITS", 2)
    path = f"/v1/checkout/a?version={version}&wait_seconds=20"
    headers = {"foreseal-client-secret": secret}
    signature = {"signature": service.signature("a"), "payer": BUYER.address}

    async def several() -> list[httpx.Response]:
        transport = httpx.ASGITransport(service.process.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
            waits = [asyncio.create_task(client.get(path, headers=headers)) for _ in range(3)]
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            assert [each.result().status_code for each in done] == [429]
            await client.post("/v1/checkout/a/authorization", json=signature, headers=headers)
            return [await each for each in waits if each not in done]

    answers = asyncio.run(several())
    assert [answer.json()["order"]["payer"] for answer in answers] == [BUYER.address] * 2
    assert all(answer.json()["order"]["version"] != version for answer in answers)
    over = shop_request(service, "GET", f"/v1/checkout/a?version={version}&wait_seconds=26", secret)
    assert code(over) == (400, "invalid_value")


def test_service_without_the_section_has_no_checkout(url: str, tmp_path: Path) -> None:
    service = ServiceHarness(url, tmp_path)
    try:
        assert service.draft("a")["checkout_url"] is None
        assert code(shop_request(service, "GET", "/v1/checkout/a", "cs_x")) == (404, "checkout_disabled")
        body = {"amount": "1", "success_url": f"{SHOP}/"}
        assert service.refused(400, "invalid_value", "/v1/orders", body)["argument"] == "success_url"
    finally:
        service.close()
