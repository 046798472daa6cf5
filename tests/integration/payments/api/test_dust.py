"""Many small transfers that refer to one order: the cost of a request does not grow with what strangers add."""

from typing import Any

import pytest
from sqlalchemy.engine.cursor import CursorFetchStrategy

from payments.api.service_harness import ServiceHarness
from payments.dust import insert_dust


def add_dust(service: ServiceHarness, count: int, **more: Any) -> None:
    with service.database.transaction() as tx:
        insert_dust(tx, "a", count, **more)


def pages(service: ServiceHarness, path: str, limit: int) -> list[list[Any]]:
    item_lists, cursor = [], ""
    while True:
        page = service.get(f"{path}limit={limit}{cursor}")
        item_lists.append(page["items"])
        if page["next"] is None:
            return item_lists
        cursor = f"&cursor={page['next']}"


@pytest.mark.parametrize("refunds", ["", "refunds=true&"])
def test_timeline_of_an_order_has_pages(service: ServiceHarness, refunds: str) -> None:
    service.captured("a")
    refund = service.made("/v1/orders/a/refunds", {"amount": "10"})["refund"]["id"]
    own = service.get(f"/v1/orders/a/timeline?{refunds}")
    assert own["next"] is None
    subjects = {each["data"]["object"]["id"] for each in own["items"]}
    assert subjects == ({"a", refund} if refunds else {"a"})
    add_dust(service, 450)
    timeline = pages(service, f"/v1/orders/a/timeline?{refunds}", 100)
    events = [each for page in timeline for each in page]
    assert [len(page) for page in timeline[:-1]] == [100] * (len(timeline) - 1)
    assert events[: len(own["items"])] == own["items"]
    assert len({each["id"] for each in events}) == len(events) == len(own["items"]) + 450
    numbers = [int(each["id"].removeprefix("evt_")) for each in events]
    assert numbers == sorted(numbers)
    first = service.get(f"/v1/orders/a/timeline?{refunds}")
    assert len(first["items"]) == 200


@pytest.mark.parametrize("query", ["cursor=x", "cursor=1-2", "limit=0", "limit=201"])
def test_invalid_page_of_a_timeline_is_rejected(service: ServiceHarness, query: str) -> None:
    service.captured("a")
    error = service.request("GET", f"/v1/orders/a/timeline?{query}")
    assert error.status_code == 400
    assert query.partition("=")[0] in error.json()["error"]["message"]


def test_balance_counts_dust_in_the_database(service: ServiceHarness) -> None:
    """Amounts have up to 256 bits, which no database sums in its own integers."""
    service.captured("a")
    huge = 2**250
    add_dust(service, 30, amount=huge)
    balance, sums = service.balance()
    assert balance["faults"] == []
    assert {name: sums[name] for name in ("received", "captured", "unmatched")} == {
        "received": str(500 + 30 * huge),
        "captured": "500",
        "unmatched": str(30 * huge),
    }


def test_balance_reads_no_transfer_of_its_own(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    service.captured("a")
    service.made("/v1/orders/a/refunds", {"amount": "10"})
    add_dust(service, 1)
    fetched, fetch_one = list[Any](), CursorFetchStrategy.fetchone

    def fetching(self: Any, *given: Any, **more: Any) -> Any:
        row = fetch_one(self, *given, **more)
        fetched.append(row)
        return row

    monkeypatch.setattr(CursorFetchStrategy, "fetchone", fetching)
    service.balance()
    before = len(fetched)
    add_dust(service, 50, first=1)
    fetched.clear()
    service.balance()
    assert len(fetched) == before > 0
