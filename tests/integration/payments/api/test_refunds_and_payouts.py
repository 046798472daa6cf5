"""Refunds, payouts, splits, unmatched transfers and the export over HTTP."""

import csv
import io

import pytest
from sqlalchemy import func, select

from foreseal.payments.api import events
from foreseal.payments.api.models import RequestRecord
from foreseal.payments.api.roles import Role
from foreseal.payments.ledger.models import PayoutLegRecord, PayoutRecord, TimelineRecord, TransactionRecord
from foreseal.payments.orders.terms import memo
from payments.api.service_harness import ServiceHarness
from payments.fake.contracts import PAYOUTS, TOKEN, selector
from payments.shop import ADDRESS, BUYER, BUYERS, SHOP


def _pay(service: ServiceHarness, amount: int, memo: bytes | None = None) -> str:
    """Transfer to the merchant as a buyer and return the hash."""
    data = bytes(12) + bytes.fromhex(SHOP.address[2:]) + amount.to_bytes(32, "big")
    name = "transfer(address,uint256)" if memo is None else "transferWithMemo(address,uint256,bytes32)"
    sent = service.chain.inject(BUYER.address.lower(), TOKEN, selector(name) + data + (memo or b""))
    service.chain.mine()
    return sent.hash


def _rows(service: ServiceHarness) -> dict[str, int]:
    """Return the number of rows that a payout or a stored response would add, by table."""
    tables = (RequestRecord, PayoutRecord, PayoutLegRecord, TransactionRecord, TimelineRecord)
    with service.database.reading() as tx:
        counts = {each.__tablename__: tx.execute(select(func.count()).select_from(each)) for each in tables}
        return {name: int(count.scalar_one()) for name, count in counts.items()}


def _exported(service: ServiceHarness) -> list[dict[str, str]]:
    response = service.request("GET", "/v1/export.csv", role=Role.READER)
    assert response.headers["content-disposition"] == 'attachment; filename="payments.csv"'
    return list(csv.DictReader(io.StringIO(response.text)))


def test_refunds_never_exceed_the_capture(service: ServiceHarness) -> None:
    service.captured("a", 500)
    made = service.made("/v1/orders/a/refunds", {"amount": "200"}, role=Role.REFUNDER)
    refund = made["refund"]
    assert (refund["recipient"], refund["amount"], refund["state"]) == (BUYER.address, "200", "Broadcast")
    assert len(made["transactions"][0]["hashes"]) == 1
    error = service.refused(409, "not_covered", "/v1/orders/a/refunds", {"amount": "301"})
    assert error["argument"] == "amount"
    service.made("/v1/orders/a/refunds", {"amount": "300", "id": "rest"})
    error = service.refused(400, "invalid_value", "/v1/orders/a/refunds", {"amount": "0"})
    assert (error["argument"], error["message"]) == ("amount", "amount: must not be 0")
    service.refused(409, "duplicate", "/v1/orders/a/refunds", {"amount": "1", "id": "rest"})
    service.settle()
    order = service.get("/v1/orders/a")["order"]
    assert (order["refunded"], order["refunded_shown"]) == ("500", "0.0005 USDC")
    refunds = service.get("/v1/refunds?order=a&state=Complete")["items"]
    assert [each["id"] for each in refunds] == ["rest", refund["id"]]
    assert service.get("/v1/refunds?state=Blocked")["items"] == []
    assert service.get("/v1/refunds/rest/timeline")["items"][-1]["type"].endswith(".finalized")
    service.stored("b")
    service.refused(409, "not_refundable", "/v1/orders/b/refunds", {"amount": "1"})


def test_timeline_of_an_order_contains_its_refunds_on_request(service: ServiceHarness) -> None:
    service.captured("a", 500)
    for id, amount in (("first", "200"), ("second", "300")):
        service.made("/v1/orders/a/refunds", {"amount": amount, "id": id})
        service.settle()
    service.captured("b", 500)
    service.made("/v1/orders/b/refunds", {"id": "other"})
    service.settle()
    own = service.get("/v1/orders/a/timeline")["items"]
    assert {each["data"]["object"]["object"] for each in own} == {"order"}
    everything = service.get("/v1/orders/a/timeline?refunds=true", role=Role.READER)["items"]
    numbers = [int(each["id"].removeprefix("evt_")) for each in everything]
    assert numbers == sorted(numbers)
    parts = [own, *(service.get(f"/v1/refunds/{id}/timeline")["items"] for id in ("first", "second"))]
    assert sorted(each["id"] for each in everything) == sorted(each["id"] for part in parts for each in part)
    completed = [each["data"] for each in everything if each["type"] == "refund.completed"]
    assert [(each["object"]["id"], each["object"]["amount"]) for each in completed] == [
        ("first", "200"),
        ("second", "300"),
    ]
    assert service.request("GET", "/v1/orders/a/timeline?refunds=yes").status_code == 400


def test_timeline_contains_the_newest_refunds_only(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_TIMELINE_REFUNDS", 1)
    service.captured("a", 500)
    for id in ("newer-by-name", "a-last"):
        service.made("/v1/orders/a/refunds", {"amount": "1", "id": id})
    timeline = service.get("/v1/orders/a/timeline?refunds=true")["items"]
    shown = [each["data"]["object"] for each in timeline if each["type"].startswith("refund.")]
    assert {each["id"] for each in shown} == {"a-last"}


def test_order_contains_the_transactions_of_its_refunds_on_request(service: ServiceHarness) -> None:
    # The id of the refund is that of another order, whose transactions are not those of the refund.
    service.captured("same", 500)
    service.captured("a", 500)
    service.made("/v1/orders/a/refunds", {"amount": "200", "id": "same"})
    service.settle()
    own = service.get("/v1/orders/a")["transactions"]
    assert {each["purpose"] for each in own} == {"capture"}
    everything = service.get("/v1/orders/a?refunds=true", role=Role.READER)["transactions"]
    assert everything == [*own, *service.get("/v1/refunds/same")["transactions"]]
    assert [each["purpose"] for each in everything] == ["capture", "refund"]
    assert service.request("GET", "/v1/orders/a?refunds=yes").status_code == 400


def test_refund_without_an_amount_pays_the_remainder(service: ServiceHarness) -> None:
    service.captured("a", 500)
    service.made("/v1/orders/a/refunds", {"amount": "200"})
    rest = service.made("/v1/orders/a/refunds", {}, key="rest", role=Role.REFUNDER)["refund"]
    assert (rest["amount"], rest["state"]) == ("300", "Broadcast")
    assert service.made("/v1/orders/a/refunds", {}, key="rest", role=Role.REFUNDER)["refund"] == rest
    error = service.refused(409, "not_covered", "/v1/orders/a/refunds", {})
    assert (error["argument"], error["message"]) == ("amount", "nothing remains of the capture to refund")
    service.settle()
    assert service.get("/v1/orders/a")["order"]["refunded"] == "500"


def test_payouts_and_splits_are_paid(service: ServiceHarness) -> None:
    service.captured("a", 10_000)
    legs: list[dict[str, object]]
    legs = [{"recipient": each.address, "amount": str(100 + index)} for index, each in enumerate(BUYERS)]
    error = service.refused(409, "not_funded", "/v1/payouts", {"recipients": legs})
    assert error["message"] == "the batch needs 303 units, but only 0 are available"
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    paid = service.made("/v1/payouts", {"recipients": legs, "reference": "0x" + "ab" * 32})["payout"]
    assert (paid["id"], paid["amount"]) == ("0x" + "ab" * 32, "303")
    parts = zip(BUYERS, (3333, 3333, 3334), strict=True)
    shares = [{"recipient": each.address, "basis_points": points} for each, points in parts]
    split = service.made("/v1/splits", {"total": "100", "shares": shares, "remainder": 1})["payout"]
    assert [leg["amount"] for leg in split["recipients"]] == ["33", "34", "33"]
    service.settle()
    assert [each["state"] for each in service.get("/v1/payouts")["items"]] == ["Complete", "Complete"]
    assert service.get(f"/v1/payouts/{paid['id']}/timeline")["items"][-1]["type"].endswith(".finalized")
    shares[0]["basis_points"] = 1
    error = service.refused(400, "invalid_value", "/v1/splits", {"total": "100", "shares": shares})
    assert error["argument"] == "shares"
    legs[1]["amount"] = "0"
    error = service.refused(400, "invalid_value", "/v1/payouts", {"recipients": legs})
    assert (error["argument"], error["message"]) == ("recipients[1].amount", "recipients[1].amount: must not be 0")
    legs[1]["amount"] = 5
    error = service.refused(400, "invalid_value", "/v1/payouts", {"recipients": legs})
    assert error["argument"] == "recipients[1].amount"
    assert len(service.get("/v1/payouts?limit=1")["items"]) == 1
    # The error names a recipient that the token rejects, and nothing is reserved.
    service.chain.change(lambda state: state.blacklisted.add(BUYERS[2].address.lower()))
    error = service.refused(409, "account_forbidden", "/v1/payouts", {"recipients": [{**legs[2]}]})
    assert BUYERS[2].address in error["message"]


def test_preview_of_a_payout_checks_it_and_changes_nothing(service: ServiceHarness) -> None:
    service.captured("a", 10_000)
    legs = [{"recipient": each.address, "amount": str(100 + index)} for index, each in enumerate(BUYERS)]
    shares = [{"recipient": BUYERS[0].address, "basis_points": 9_999}, {"recipient": SHOP.address, "basis_points": 1}]
    payout, split = {"recipients": legs}, {"total": "100", "shares": shares}
    error = service.refused(409, "not_funded", "/v1/payouts/preview", payout)
    assert error["message"] == "the batch needs 303 units, but only 0 are available"
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    before = _rows(service)
    # It needs no Idempotency-Key; the same key may precede the payout itself.
    for key in ("k", "k", ""):
        shown = service.request("POST", "/v1/payouts/preview", payout, key=key)
        assert shown.status_code == 200, shown.text
    preview = shown.json()
    assert (preview["amount"], preview["payee"], preview["contract"].lower()) == ("303", SHOP.address, PAYOUTS)
    assert [leg["recipient"] for leg in preview["recipients"]] == [each.address for each in BUYERS]
    # A share of less than a unit is not paid; the remainder goes to the first share.
    preview = service.made("/v1/splits/preview", split)
    assert [(leg["recipient"], leg["amount"]) for leg in preview["recipients"]] == [(BUYERS[0].address, "100")]
    many = {"recipients": [{"recipient": BUYERS[0].address, "amount": "1"}] * 101}
    assert service.refused(400, "invalid_value", "/v1/payouts/preview", many)["argument"] == "recipients"
    shares[0]["basis_points"] = 1
    assert service.refused(400, "invalid_value", "/v1/splits/preview", split)["argument"] == "shares"
    for role in (Role.READER, Role.CASHIER, Role.REFUNDER):
        service.refused(403, "insufficient_role", "/v1/payouts/preview", payout, role=role)
    service.chain.change(lambda state: state.blacklisted.add(BUYERS[2].address.lower()))
    assert BUYERS[2].address in service.refused(409, "account_forbidden", "/v1/payouts/preview", payout)["message"]
    assert _rows(service) == before
    paid = service.made("/v1/payouts", {"recipients": legs[:2]}, key="k")["payout"]
    assert paid["amount"] == "201"


def test_unmatched_transfers_are_listed_and_resolved(service: ServiceHarness) -> None:
    service.stored("a", 500)
    hashes = [_pay(service, 1), _pay(service, 499, memo("a")), _pay(service, 501, memo("a")), _pay(service, 2)]
    service.settle()
    transfers = service.get("/v1/unmatched-transfers")["items"]
    assert [(each["transaction_hash"], each["reason"], each["order_id"]) for each in transfers] == [
        (hashes[3], "unmatched", None),
        (hashes[2], "overpaid", "a"),
        (hashes[1], "underpaid", "a"),
        (hashes[0], "unmatched", None),
    ]
    first = service.get("/v1/unmatched-transfers?limit=3")
    rest = service.get(f"/v1/unmatched-transfers?limit=3&cursor={first['next']}")
    assert ([*first["items"], *rest["items"]], rest["next"]) == (transfers, None)
    path = f"/v1/unmatched-transfers/{hashes[1]}/{transfers[2]['position']}/resolution"
    assert service.refused(400, "invalid_value", path, {"note": "sent\0back"})["argument"] == "note"
    done = service.made(path, {"note": "sent back"})
    assert done["resolution"]["note"] == "sent back"
    service.refused(409, "duplicate", path, {"note": "kept"})
    service.refused(404, "not_found", f"/v1/unmatched-transfers/{'0x' + '00' * 32}/0/resolution", {"note": "x"})
    (resolved,) = service.get("/v1/unmatched-transfers?resolved=true")["items"]
    assert resolved["transaction_hash"] == hashes[1]
    assert len(service.get("/v1/unmatched-transfers?resolved=false&reason=unmatched")["items"]) == 2


def test_export_matches_the_chain(service: ServiceHarness) -> None:
    service.captured("=1+1", 500)
    service.made("/v1/orders/=1%2B1/refunds", {"amount": "200", "id": "r"})
    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    service.made("/v1/payouts", {"recipients": [{"recipient": BUYERS[1].address, "amount": "7"}]})
    _pay(service, 3)
    service.settle()
    service.made(f"/v1/orders/{service.stored('late', 40)}/capture")
    service.chain.step()
    service.run_pass()
    rows = _exported(service)
    assert [(row["kind"], row["order_id"], row["amount"], row["finality"]) for row in rows] == [
        ("captured", "'=1+1", "500", "final"),
        ("unmatched", "", "3", "final"),
        ("captured", "late", "40", "provisional"),
        ("refunded", "'=1+1", "200", "final"),
        ("paid_out", "", "7", "final"),
    ]
    assert rows[0]["amount_shown"] == "0.000500"
    # Each row has the position of the same transfer in the node's own logs.
    logs = service.node.eth_getLogs({"address": TOKEN, "fromBlock": "0x0", "toBlock": "pending", "topics": [None]})
    amounts = [log for log in logs if len(log["data"]) == 66]
    moved = {(log["transactionHash"], int(log["logIndex"], 16)): int(log["data"], 16) for log in amounts}
    for row in rows:
        assert moved[row["transaction_hash"], int(row["log_index"])] == int(row["amount"])
    sums = {"received": "543", "captured": "540", "granted": "0", "unmatched": "3", "refunded": "200", "reserved": "0"}
    place = {"destination": "default", "token": ADDRESS, "symbol": "USDC", "payees": [SHOP.address]}
    assert service.get("/v1/balance") == {"destinations": [place | sums], "faults": []}
    assert {(row["destination"], row["token"], row["payee"]) for row in rows} == {("default", ADDRESS, SHOP.address)}
