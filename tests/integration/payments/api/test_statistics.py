"""Statistics of orders by day, compared with sums of the orders themselves."""

import json
from collections import defaultdict
from typing import Any

import pytest
from sqlalchemy import update

from foreseal.payments.api.routes import statistics
from foreseal.payments.ledger.models import OrderRecord
from payments.api.service_harness import ServiceHarness

DAY = 86_400
LARGE = 10**24 + 123_456_789_012_345


def recreate(service: ServiceHarness, id: str, created: int, **values: Any) -> None:
    """Change the creation time and further columns of an order."""
    with service.database.transaction() as tx:
        tx.execute(update(OrderRecord).where(OrderRecord.id == id).values(created=created, **values))


def test_days_add_up_to_the_orders(service: ServiceHarness) -> None:
    today = int(service.clock()) // DAY
    for id, amount in (("a", 500), ("b", 250), ("c", 1)):
        service.captured(id, amount)
    # Amounts beyond 64 bits are summed exactly as well.
    recreate(service, "a", (today - 1) * DAY, amount=LARGE)
    recreate(service, "b", (today - 1) * DAY + DAY - 1, amount=LARGE, actual=LARGE - 1)
    recreate(service, "c", (today - 3) * DAY)
    service.made(f"/v1/orders/{service.stored('v')}/void")
    service.draft("open")
    expected: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for order in service.get("/v1/orders?limit=200")["items"]:
        day = expected[order["created"] // DAY * DAY]
        day[0] += 1
        day[1] += order["state"] == "Used, captured"
        day[2] += order["state"] == "Voided offchain"
    report = service.get(f"/v1/statistics?created_before={int(service.clock()) + 1}")
    assert {each["day"]: [each["orders"], each["captured"], each["failed"]] for each in report["items"]} == expected
    volumes = {each["day"]: each["volume"]["amount"] for each in report["items"]}
    assert volumes[(today - 1) * DAY] == str(2 * LARGE - 1)
    assert volumes[(today - 3) * DAY] == "1"
    assert (report["complete"], report["items"][0]["symbol"]) == (True, "USDC")


def test_refunds_are_summed_on_the_day_of_their_order(service: ServiceHarness) -> None:
    today = int(service.clock()) // DAY
    for id, parts in (("a", (100, 150)), ("b", (30,)), ("c", ())):
        service.captured(id, 500)
        for amount in parts:
            service.made(f"/v1/orders/{id}/refunds", {"amount": str(amount)})
    recreate(service, "a", (today - 1) * DAY)
    days = service.get(f"/v1/statistics?created_before={int(service.clock()) + 1}")["items"]
    assert [(each["refunded"]["amount"], each["volume"]["amount"]) for each in days] == [
        ("250", "500"),
        ("30", "1000"),
    ]
    assert days[0]["refunded"]["amount_shown"] == "0.00025 USDC"


def test_range_is_bounded(service: ServiceHarness) -> None:
    for query in ("created_from=5&created_before=5", f"created_from=0&created_before={367 * DAY}", "created_from=x"):
        response = service.request("GET", f"/v1/statistics?{query}")
        assert (response.status_code, response.json()["error"]["argument"]) == (400, "created_from")
    service.draft("a")
    now = int(service.clock()) + 1
    assert service.get(f"/v1/statistics?created_from={now}&created_before={now + 1}")["items"] == []


def test_oldest_orders_beyond_the_limit_are_left_out(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MAX_ORDERS", 2)
    now = int(service.clock())
    for number, id in enumerate("abc"):
        service.draft(id)
        recreate(service, id, now - 100 + number)
    report = service.get(f"/v1/statistics?created_before={now}")
    assert (report["complete"], report["created_from"], sum(each["orders"] for each in report["items"])) == (
        False,
        now - 99,
        2,
    )


def test_orders_are_found_by_amount(service: ServiceHarness) -> None:
    for id, amount in (("a", 9), ("b", 10), ("c", 100)):
        service.draft(id, amount)

    def ids(query: str) -> list[str]:
        return [each["id"] for each in service.get(f"/v1/orders?{query}")["items"]]

    assert ids("amount_from=10") == ["c", "b"]
    assert ids("amount_to=10") == ["b", "a"]
    assert ids("amount_from=10&amount_to=10") == ["b"]


def test_export_as_json_lines_has_the_rows_of_the_csv(service: ServiceHarness) -> None:
    service.captured("a", 500)
    text = service.request("GET", "/v1/export.csv").text.splitlines()
    rows = [json.loads(line) for line in service.request("GET", "/v1/export.jsonl").text.splitlines()]
    assert [",".join(row.values()) for row in rows] == text[1:]
    assert ",".join(rows[0]) == text[0]
