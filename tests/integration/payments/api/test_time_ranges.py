"""Lists by creation time, and exports by block time."""

import csv
import io
from typing import Any

from payments.api.service_harness import ServiceHarness
from payments.fake.contracts import PAYOUTS
from payments.shop import BUYERS, SHOP


def _ids(service: ServiceHarness, path: str) -> list[str]:
    return [each["id"] for each in service.get(path)["items"]]


def test_lists_are_limited_by_creation_time(service: ServiceHarness) -> None:
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    service.captured("a", 500)
    legs = [{"recipient": BUYERS[1].address, "amount": "1"}]
    times, payouts = [], []
    for id in ("x", "y"):
        service.chain.mine(10)
        times.append(int(service.clock()))
        service.draft(id)
        service.made("/v1/orders/a/refunds", {"amount": "1", "id": id})
        payouts.append(service.made("/v1/payouts", {"recipients": legs})["payout"]["id"])
        service.settle()
    first, second = times
    for path, (x, y) in (("/v1/orders", "xy"), ("/v1/refunds", "xy"), ("/v1/payouts", payouts)):
        assert _ids(service, f"{path}?created_from={second}") == [y]
        assert _ids(service, f"{path}?created_from={first}&created_before={second}") == [x]
        assert _ids(service, f"{path}?created_from={second + 1}") == []
        assert y not in _ids(service, f"{path}?created_before={second}")
        page = service.get(f"{path}?created_from={first}&limit=1")
        assert [each["id"] for each in page["items"]] == [y]
        assert _ids(service, f"{path}?created_from={first}&limit=1&cursor={page['next']}") == [x]
    response = service.request("GET", "/v1/orders?created_from=-1")
    assert (response.status_code, response.json()["error"]["argument"]) == (400, "created_from")


def _kinds(service: ServiceHarness, query: str) -> list[tuple[str, str]]:
    response = service.request("GET", f"/v1/export.csv?{query}")
    assert response.status_code == 200, response.text
    return [(row["kind"], row["amount"]) for row in csv.DictReader(io.StringIO(response.text))]


def _time_of(service: ServiceHarness, transaction: str) -> int:
    receipt: Any = service.node.eth_getTransactionReceipt(transaction)
    return int(service.node.eth_getBlockByNumber(receipt["blockNumber"], False)["timestamp"], 16)


def test_export_is_limited_by_block_time(service: ServiceHarness) -> None:
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    service.captured("a", 500)
    service.made("/v1/orders/a/refunds", {"amount": "200", "id": "r"})
    service.settle()
    service.captured("b", 40)
    service.made("/v1/payouts", {"recipients": [{"recipient": BUYERS[1].address, "amount": "7"}]})
    service.settle()
    everything = [("captured", "500"), ("captured", "40"), ("refunded", "200"), ("paid_out", "7")]
    assert _kinds(service, "") == everything
    times = {}
    for row in csv.DictReader(io.StringIO(service.request("GET", "/v1/export.csv").text)):
        times[row["kind"], row["amount"]] = _time_of(service, row["transaction_hash"])
        assert int(row["block_number"]) > 0

    for time in sorted({*times.values(), *(each + 1 for each in times.values())}):
        later = [each for each in everything if times[each] >= time]
        assert _kinds(service, f"block_time_from={time}") == later
        assert _kinds(service, f"block_time_before={time}") == [each for each in everything if each not in later]
    assert _kinds(service, f"block_time_from=0&block_time_before={2**40}") == everything
    assert _kinds(service, f"block_time_from={2**40}") == []
    service.node.losses += [("eth_getBlockByNumber", False)]
    assert service.request("GET", "/v1/export.csv?block_time_from=5").status_code == 503
