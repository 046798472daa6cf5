"""Orders without payer over HTTP: the first account that signs becomes the payer."""

import csv
import io
from typing import Any

import orjson
import pytest

from foreseal.payments.api.idempotency import IdempotentRequests
from foreseal.payments.api.roles import Role
from payments.api.service_harness import LEASE, ServiceHarness
from payments.scan import received
from payments.shop import ADDRESS, BUYER, BUYERS, SHOP

OTHER = BUYERS[1]


class Died(BaseException):
    """The process ends before it stores the response."""


def create(service: ServiceHarness, id: str, **more: Any) -> Any:
    return service.made("/v1/orders", {"id": id, "amount": "500"} | more, role=Role.CASHIER)


def body(service: ServiceHarness, id: str, buyer: Any = BUYER) -> dict[str, str]:
    return {"signature": service.signature(id, buyer), "payer": buyer.address}


def test_wallet_that_signs_becomes_the_payer(service: ServiceHarness) -> None:
    made = create(service, "7", reference="cart 31")
    assert (made["order"]["payer"], made["payer_required"], made["order"]["state"]) == (None, True, "Drafted")
    assert list(made["typed_data"]["message"]) == ["to", "value", "validAfter", "validBefore", "nonce"]
    error = service.request("GET", "/v1/orders/7/typed-data").json()["error"]
    assert (error["code"], error["argument"]) == ("missing_field", "payer")
    complete = service.get(f"/v1/orders/7/typed-data?payer={BUYER.address}")
    assert complete["message"] == {"from": BUYER.address, **made["typed_data"]["message"]}
    assert {**complete, "message": made["typed_data"]["message"]} == made["typed_data"]
    assert service.get("/v1/orders/7")["order"]["payer"] is None

    stored = service.made("/v1/orders/7/signature", body(service, "7"), role=Role.CASHIER)
    assert (stored["order"]["payer"], stored["order"]["state"]) == (BUYER.address, "Stored, unused")
    assert service.get("/v1/orders/7/typed-data") == complete
    service.made("/v1/orders/7/capture", role=Role.CASHIER)
    service.settle()
    assert service.state("7") == "Used, captured / final"
    assert [(each.amount, each.sender) for each in received(service.chain)] == [(500, BUYER.address.lower())]


def test_order_with_payer_is_unchanged(service: ServiceHarness) -> None:
    made = service.draft("a")
    assert (made["payer_required"], made["order"]["payer"]) == (False, BUYER.address)
    assert made["typed_data"]["message"]["from"] == BUYER.address
    url = "/v1/orders/a/signature"
    other = body(service, "a") | {"payer": OTHER.address}
    assert service.refused(409, "payer_mismatch", url, other)["argument"] == "payer"
    response = service.request("GET", f"/v1/orders/a/typed-data?payer={OTHER.address}")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "payer_mismatch")
    assert service.made(url, body(service, "a"))["order"]["state"] == "Stored, unused"


def test_signature_without_payer_is_rejected(service: ServiceHarness) -> None:
    create(service, "a")
    error = service.refused(400, "missing_field", "/v1/orders/a/signature", {"signature": service.signature("a")})
    assert error["argument"] == "payer"
    assert error["message"] == "payer: required, since order a has no payer yet"
    assert service.get("/v1/orders/a")["order"]["payer"] is None


@pytest.mark.parametrize(
    ("payer", "message"),
    [
        ("0x" + "00" * 20, "payer: must not be the zero address"),
        (SHOP.address, "payer: must not be the payee"),
        (ADDRESS, "payer: must not be a contract of the merchant"),
        ("0x12", "payer: address: '0x12' is not an address"),
        (5, "payer: 5 must be a string"),
    ],
)
def test_account_that_cannot_pay_is_rejected(service: ServiceHarness, payer: Any, message: str) -> None:
    create(service, "a")
    given = {"signature": service.signature("a"), "payer": payer}
    error = service.refused(400, "invalid_value", "/v1/orders/a/signature", given)
    assert (error["argument"], message in error["message"]) == ("payer", True), error
    response = service.request("GET", f"/v1/orders/a/typed-data?payer={payer}")
    assert (response.status_code, response.json()["error"]["argument"]) == (400, "payer")
    assert (service.get("/v1/orders/a")["order"]["payer"], service.state("a")) == (None, "Drafted / idle")


def test_second_wallet_is_rejected_and_the_first_may_repeat(service: ServiceHarness) -> None:
    create(service, "a")
    url, first, second = "/v1/orders/a/signature", body(service, "a"), body(service, "a", OTHER)
    assert service.refused(422, "invalid_signature", url, first | {"payer": OTHER.address})["argument"] == "signature"
    stored = service.made(url, first, key="k")
    assert service.refused(409, "payer_mismatch", url, second) == {
        "code": "payer_mismatch",
        "message": f"payer: {OTHER.address} is not {BUYER.address}, the payer of order a",
        "argument": "payer",
        "reason": None,
    }
    assert service.made(url, first, key="k") == service.made(url, first) == stored
    assert service.made(url, {"signature": first["signature"]}) == stored
    assert service.refused(409, "not_allowed", url, first | {"signature": second["signature"]})


def test_signature_captures_an_order_with_auto_capture(service: ServiceHarness) -> None:
    create(service, "a", auto_capture=True)
    signed = service.made("/v1/orders/a/signature", body(service, "a"))
    assert (signed["order"]["tx_status"], signed["capture_error"]) == ("broadcast", None)
    create(service, "b", auto_capture=True)
    service.settle()
    assert (service.state("a"), service.state("b")) == ("Used, captured / final", "Drafted / idle")


def test_void_cancel_and_expiry_need_no_payer(service: ServiceHarness) -> None:
    create(service, "a", valid_seconds=100)
    create(service, "b", valid_seconds=100)
    signature = body(service, "a")
    service.refused(409, "not_allowed", "/v1/orders/a/cancel", {"signature": service.cancellation("a")})
    voided = service.made("/v1/orders/a/void", {"reason": "sold out"}, role=Role.CASHIER)
    assert (voided["order"]["state"], voided["order"]["payer"]) == ("Voided offchain", None)
    error = service.refused(409, "not_cancelable", "/v1/orders/a/cancel", {"signature": service.cancellation("a")})
    assert "orders: a has no payer, so nothing was signed that could be canceled" in error["message"]
    response = service.request("GET", f"/v1/orders/a/typed-data?purpose=cancel&payer={BUYER.address}")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "not_cancelable")
    service.refused(409, "not_allowed", "/v1/orders/a/signature", signature)
    service.draft("known")
    service.refused(409, "not_allowed", "/v1/orders/known/void", {})
    service.chain.mine(100)
    service.settle()
    assert [service.state(id) for id in "ab"] == ["Expired / idle"] * 2


def test_events_show_the_payer_from_its_assignment_on(service: ServiceHarness) -> None:
    create(service, "a")
    (before,) = service.get("/v1/orders/a/timeline")["items"]
    service.made("/v1/orders/a/signature", body(service, "a"))
    created, *later = service.get("/v1/orders/a/timeline")["items"]
    assert created == before
    assert (created["type"], created["data"]["object"]["payer"]) == ("order.created", None)
    assert [(each["type"], each["data"]["object"]["payer"]) for each in later] == [
        ("order.signed", BUYER.address),
        ("order.stored", BUYER.address),
    ]


def test_webhook_has_the_bytes_of_the_event_with_null_payer(service: ServiceHarness) -> None:
    service.made("/v1/webhooks", {"url": "http://hooks.test/a"})
    create(service, "a")
    service.made("/v1/orders/a/signature", body(service, "a"))
    while service.process.deliver():
        pass
    sent = [orjson.loads(content)["data"]["object"]["payer"] for _, content, _ in service.post.got]
    assert sent == [None, BUYER.address, BUYER.address]


def test_list_finds_an_order_by_its_assigned_payer(service: ServiceHarness) -> None:
    for id in "abc":
        create(service, id)
    service.made("/v1/orders/a/signature", body(service, "a"))
    service.made("/v1/orders/b/signature", body(service, "b", OTHER))
    shown = {each["id"]: each["payer"] for each in service.get("/v1/orders")["items"]}
    assert shown == {"a": BUYER.address, "b": OTHER.address, "c": None}
    for buyer, id in ((BUYER, "a"), (OTHER, "b")):
        assert [each["id"] for each in service.get(f"/v1/orders?payer={buyer.address}")["items"]] == [id]


def test_export_contains_the_capture_of_the_assigned_payer(service: ServiceHarness) -> None:
    create(service, "a", auto_capture=True)
    create(service, "b")
    service.made("/v1/orders/a/signature", body(service, "a"))
    service.settle()
    rows = list(csv.DictReader(io.StringIO(service.request("GET", "/v1/export.csv").text)))
    assert [(row["kind"], row["order_id"], row["account"]) for row in rows] == [("captured", "a", BUYER.address)]


def test_repeated_creation_returns_the_order_after_its_assignment(service: ServiceHarness) -> None:
    terms = {"id": "a", "amount": "500"}
    first = service.made("/v1/orders", terms, key="k")
    service.made("/v1/orders/a/signature", body(service, "a"))
    assert service.made("/v1/orders", terms, key="k") == first
    service.refused(409, "duplicate", "/v1/orders", terms)
    service.refused(409, "duplicate", "/v1/orders", terms | {"payer": BUYER.address})


def test_maximum_needs_a_checkout_also_without_payer(service: ServiceHarness) -> None:
    service.refused(409, "checkout_not_configured", "/v1/orders", {"maximum": "500"})


def test_crashed_creation_finds_the_order_after_its_assignment(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = {"id": "a", "amount": "500"}

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(IdempotentRequests, "conclude", die)
        with pytest.raises(Died):
            service.request("POST", "/v1/orders", terms, key="k")
    service.restart()
    service.made("/v1/orders/a/signature", body(service, "a"))
    service.offset += LEASE + 1
    found = service.made("/v1/orders", terms, key="k")
    assert (found["order"]["payer"], found["payer_required"]) == (BUYER.address, False)
    assert service.ids() == ["a"]
