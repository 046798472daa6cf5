"""Reference and metadata of orders over HTTP."""

from typing import Any

from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment

DATA: dict[str, Any] = {
    "reference": "invoice 17, Z\u00fcrich",
    "metadata": {"cart": "31", "note": "\u20ac " + "x" * 498, "k" * 40: ""},
}


def _data(order: dict[str, Any]) -> dict[str, Any]:
    return {name: order[name] for name in DATA}


def test_order_returns_its_reference_and_metadata(service: ServiceHarness) -> None:
    assert _data(service.draft("a", **DATA)["order"]) == DATA
    assert _data(service.get("/v1/orders/a")["order"]) == DATA
    assert _data(service.draft("b")["order"]) == {"reference": None, "metadata": {}}
    longest = {f"{number:040}": "v" * 500 for number in range(50)}
    assert service.draft("c", metadata=longest)["order"]["metadata"] == longest


def test_payments_in_one_request_return_their_reference_and_metadata(service: ServiceHarness) -> None:
    one = service.made("/v1/payments", payment(service, "a", **DATA))["order"]
    assert _data(one) == DATA
    items = service.made("/v1/payments/batch", {"payments": [payment(service, "b", **DATA), payment(service, "c")]})
    assert [_data(item["order"]) for item in items["items"]] == [DATA, {"reference": None, "metadata": {}}]
    assert _data(service.get("/v1/orders/b")["order"]) == DATA


def test_orders_are_found_by_reference(service: ServiceHarness) -> None:
    service.draft("a", reference="r 1")
    service.draft("b", reference="r 2")
    service.made("/v1/payments", payment(service, "c", reference="r 1"))
    assert [order["id"] for order in service.get("/v1/orders?reference=r%201")["items"]] == ["c", "a"]
    assert service.get("/v1/orders?reference=r")["items"] == []
    assert service.request("GET", "/v1/orders?reference=").status_code == 400
