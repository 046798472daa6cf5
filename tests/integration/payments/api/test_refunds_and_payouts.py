"""Refunds, payouts, splits, unmatched transfers and the export over HTTP."""

import csv
import io

from foreseal.payments.api.tables import Role
from foreseal.payments.orders.authorizations import memo
from payments.api.service_harness import ServiceHarness
from payments.fake.contracts import PAYOUTS, TOKEN, selector
from payments.shop import BUYER, BUYERS, SHOP


def _pay(till: ServiceHarness, amount: int, memo: bytes | None = None) -> str:
    """Transfer to the merchant as a buyer and return the hash."""
    data = bytes(12) + bytes.fromhex(SHOP.address[2:]) + amount.to_bytes(32, "big")
    name = "transfer(address,uint256)" if memo is None else "transferWithMemo(address,uint256,bytes32)"
    sent = till.chain.inject(BUYER.address.lower(), TOKEN, selector(name) + data + (memo or b""))
    till.chain.mine()
    return sent.hash


def _exported(till: ServiceHarness) -> list[dict[str, str]]:
    response = till.ask("GET", "/v1/export.csv", role=Role.READER)
    assert response.headers["content-disposition"] == 'attachment; filename="payments.csv"'
    return list(csv.DictReader(io.StringIO(response.text)))


def test_refunds_are_never_more_than_the_capture(till: ServiceHarness) -> None:
    till.captured("a", 500)
    made = till.made("/v1/orders/a/refunds", {"amount": "200"}, role=Role.REFUNDER)
    refund = made["refund"]
    assert (refund["recipient"], refund["amount"], refund["state"]) == (BUYER.address, "200", "Broadcast")
    assert len(made["transactions"][0]["hashes"]) == 1
    error = till.refused(409, "not_covered", "/v1/orders/a/refunds", {"amount": "301"})
    assert error["argument"] == "amount"
    till.made("/v1/orders/a/refunds", {"amount": "300", "id": "rest"})
    till.refused(409, "duplicate", "/v1/orders/a/refunds", {"amount": "1", "id": "rest"})
    till.settle()
    order = till.get("/v1/orders/a")["order"]
    assert (order["refunded"], order["refunded_shown"]) == ("500", "0.000500 USDC")
    found = till.get("/v1/refunds?order=a&state=Complete")["items"]
    assert [each["id"] for each in found] == ["rest", refund["id"]]
    assert till.get("/v1/refunds?state=Blocked")["items"] == []
    assert till.get("/v1/refunds/rest/timeline")["items"][-1]["type"].endswith(".finalized")
    till.stored("b")
    till.refused(409, "not_refundable", "/v1/orders/b/refunds", {"amount": "1"})


def test_payouts_and_splits(till: ServiceHarness) -> None:
    till.captured("a", 10_000)
    legs: list[dict[str, object]]
    legs = [{"recipient": each.address, "amount": str(100 + index)} for index, each in enumerate(BUYERS)]
    error = till.refused(409, "not_funded", "/v1/payouts", {"recipients": legs})
    assert error["message"] == "the batch needs 303 units, of which 0 may be taken"
    till.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    paid = till.made("/v1/payouts", {"recipients": legs, "reference": "0x" + "ab" * 32})["payout"]
    assert (paid["id"], paid["amount"]) == ("0x" + "ab" * 32, "303")
    parts = zip(BUYERS, (3333, 3333, 3334), strict=True)
    shares = [{"recipient": each.address, "basis_points": points} for each, points in parts]
    split = till.made("/v1/splits", {"total": "100", "shares": shares, "remainder": 1})["payout"]
    assert [leg["amount"] for leg in split["recipients"]] == ["33", "34", "33"]
    till.settle()
    assert [each["state"] for each in till.get("/v1/payouts")["items"]] == ["Complete", "Complete"]
    assert till.get(f"/v1/payouts/{paid['id']}/timeline")["items"][-1]["type"].endswith(".finalized")
    shares[0]["basis_points"] = 1
    error = till.refused(400, "invalid_value", "/v1/splits", {"total": "100", "shares": shares})
    assert error["argument"] == "shares"
    legs[1]["amount"] = 5
    error = till.refused(400, "invalid_value", "/v1/payouts", {"recipients": legs})
    assert error["argument"] == "recipients[1].amount"
    assert len(till.get("/v1/payouts?limit=1")["items"]) == 1
    # The error names a recipient that the token rejects, and nothing is reserved.
    till.chain.change(lambda state: state.blacklisted.add(BUYERS[2].address.lower()))
    error = till.refused(409, "account_forbidden", "/v1/payouts", {"recipients": [{**legs[2]}]})
    assert BUYERS[2].address in error["message"]


def test_unmatched_transfers_are_listed_and_resolved(till: ServiceHarness) -> None:
    till.stored("a", 500)
    hashes = [_pay(till, 1), _pay(till, 499, memo("a")), _pay(till, 501, memo("a")), _pay(till, 2)]
    till.settle()
    found = till.get("/v1/unmatched-transfers")["items"]
    assert [(each["transaction_hash"], each["reason"], each["order_id"]) for each in found] == [
        (hashes[3], "unmatched", None),
        (hashes[2], "overpaid", "a"),
        (hashes[1], "underpaid", "a"),
        (hashes[0], "unmatched", None),
    ]
    first = till.get("/v1/unmatched-transfers?limit=3")
    rest = till.get(f"/v1/unmatched-transfers?limit=3&cursor={first['next']}")
    assert ([*first["items"], *rest["items"]], rest["next"]) == (found, None)
    path = f"/v1/unmatched-transfers/{hashes[1]}/{found[2]['position']}/resolution"
    assert till.refused(400, "invalid_value", path, {"note": "sent\0back"})["argument"] == "note"
    done = till.made(path, {"note": "sent back"})
    assert done["resolution"]["note"] == "sent back"
    till.refused(409, "duplicate", path, {"note": "kept"})
    till.refused(404, "not_found", f"/v1/unmatched-transfers/{'0x' + '00' * 32}/0/resolution", {"note": "x"})
    (resolved,) = till.get("/v1/unmatched-transfers?resolved=true")["items"]
    assert resolved["transaction_hash"] == hashes[1]
    assert len(till.get("/v1/unmatched-transfers?resolved=false&reason=unmatched")["items"]) == 2


def test_the_export_is_what_the_chain_has(till: ServiceHarness) -> None:
    till.captured("=1+1", 500)
    till.made("/v1/orders/=1%2B1/refunds", {"amount": "200", "id": "r"})
    till.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    till.made("/v1/payouts", {"recipients": [{"recipient": BUYERS[1].address, "amount": "7"}]})
    _pay(till, 3)
    till.settle()
    till.made(f"/v1/orders/{till.stored('late', 40)}/capture")
    till.chain.step()
    till.run_pass()
    rows = _exported(till)
    assert [(row["kind"], row["order_id"], row["amount"], row["finality"]) for row in rows] == [
        ("captured", "'=1+1", "500", "final"),
        ("unmatched", "", "3", "final"),
        ("captured", "late", "40", "provisional"),
        ("refunded", "'=1+1", "200", "final"),
        ("paid_out", "", "7", "final"),
    ]
    assert rows[0]["amount_shown"] == "0.000500"
    # Each row has the position of the same transfer in the node's own logs.
    logs = till.node.eth_getLogs({"address": TOKEN, "fromBlock": "0x0", "toBlock": "pending", "topics": [None]})
    amounts = [log for log in logs if len(log["data"]) == 66]
    moved = {(log["transactionHash"], int(log["logIndex"], 16)): int(log["data"], 16) for log in amounts}
    for row in rows:
        assert moved[row["transaction_hash"], int(row["log_index"])] == int(row["amount"])
    sums = {"received": "543", "captured": "540", "unmatched": "3", "refunded": "200", "reserved": "0"}
    assert till.get("/v1/balance") == sums | {"faults": []}
