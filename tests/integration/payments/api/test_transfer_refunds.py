"""Refunds of unmatched transfers over HTTP."""

import pytest

from foreseal.payments.api.roles import Role
from foreseal.payments.crash_points import CrashPoint
from payments.api.service_harness import ServiceHarness
from payments.fake.contracts import TOKEN, selector
from payments.scan import paid
from payments.shop import BUYER, SHOP, Killed


def _pay(service: ServiceHarness, amount: int) -> str:
    """Transfer to the merchant without an order. Return the path of the refund."""
    data = bytes(12) + bytes.fromhex(SHOP.address[2:]) + amount.to_bytes(32, "big")
    sent = service.chain.inject(BUYER.address.lower(), TOKEN, selector("transfer(address,uint256)") + data)
    service.chain.mine()
    service.run_pass()
    (found,) = [
        each for each in service.get("/v1/unmatched-transfers")["items"] if each["transaction_hash"] == sent.hash
    ]
    return f"/v1/unmatched-transfers/{sent.hash}/{found['position']}/refund"


def _paid(service: ServiceHarness) -> list[tuple[str, int]]:
    return [(each.recipient, each.amount) for each in paid(service.chain)]


def test_unmatched_transfer_is_refunded_once_to_its_sender(service: ServiceHarness) -> None:
    path = _pay(service, 70)
    service.refused(409, "not_refundable", path, {}, role=Role.REFUNDER)
    service.settle()
    service.refused(403, "insufficient_role", path, {}, role=Role.CASHIER)
    error = service.refused(409, "not_covered", path, {"amount": "71"})
    assert error["argument"] == "amount"
    made = service.made(path, {}, role=Role.REFUNDER, key="k")
    refund = made["refund"]
    assert (refund["recipient"], refund["amount"], refund["order_id"]) == (BUYER.address, "70", None)
    assert path.split("/")[3:5] == [refund["transfer"]["transaction_hash"], str(refund["transfer"]["position"])]
    assert service.made(path, {}, role=Role.REFUNDER, key="k") == made
    service.refused(409, "duplicate", path, {})
    service.refused(409, "duplicate", path, {"id": "other"})
    service.settle()
    assert _paid(service) == [(BUYER.address.lower(), 70)]
    (resolved,) = service.get("/v1/unmatched-transfers?resolved=true")["items"]
    assert resolved["resolution"]["note"] == f"refund {refund['id']}"
    assert service.get(f"/v1/refunds/{refund['id']}")["refund"]["state"] == "Complete"
    balance, sums = service.balance()
    assert (sums["refunded"], balance["faults"]) == ("70", [])
    assert "refunded" in service.request("GET", "/v1/export.csv").text


def test_only_unresolved_unmatched_transfers_are_refunded(service: ServiceHarness) -> None:
    path = _pay(service, 70)
    service.settle()
    service.made(path.replace("refund", "resolution"), {"note": "kept"})
    service.refused(409, "duplicate", path, {})
    service.refused(404, "not_found", f"/v1/unmatched-transfers/{'0x' + '00' * 32}/0/refund", {})
    service.captured("a", 500)
    payment = service.get("/v1/orders/a")["order"]["payment"]
    captured = f"/v1/unmatched-transfers/{payment['transaction_hash']}/{payment['position']}/refund"
    service.refused(404, "not_found", captured, {})
    service.settle()
    assert _paid(service) == []


@pytest.mark.fake_chain
@pytest.mark.parametrize("point", [CrashPoint.REFUND_RESERVED, CrashPoint.REFUND_DECIDED, CrashPoint.REFUND_STORED])
def test_crash_refunds_a_transfer_once(service: ServiceHarness, point: CrashPoint) -> None:
    path = _pay(service, 70)
    service.settle()
    service.process.crashes.arm(point)
    with pytest.raises(Killed):
        service.made(path, {"amount": "60"}, key="k")
    service.offset += 100
    service.restart()
    assert service.made(path, {"amount": "60"}, key="k")["refund"]["amount"] == "60"
    service.settle()
    assert _paid(service) == [(BUYER.address.lower(), 60)]
