"""Refunds of unmatched transfers over HTTP."""

import pytest

from foreseal.payments.api.roles import Role
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger
from foreseal.payments.transfers.grant_authorizations import GrantedAuthorization, enter_authorization
from foreseal.payments.typed_data import TransferAuthorization
from payments.api.service_harness import ServiceHarness
from payments.fake.contracts import TOKEN, call_data, selector
from payments.scan import paid
from payments.shop import ADDRESS, BUYER, SHOP, Killed

NONCE = b"\7" * 32


def _authorize(service: ServiceHarness, amount: int) -> str:
    """Transfer to the merchant by an authorization without an order. Return the path of the refund."""
    terms = (BUYER.address, SHOP.address, amount, 0, 2**63, NONCE)
    domain = service.backend.destinations.default.merchant.domain
    signature = TransferAuthorization(*terms).sign(domain, bytes(BUYER.key))
    function = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
    sent = service.chain.inject(BUYER.address.lower(), TOKEN, call_data(function, *terms, signature))
    service.settle()
    return f"/v1/unmatched-transfers/{sent.hash}/1/refund"


def _pay(service: ServiceHarness, amount: int) -> str:
    """Transfer to the merchant without an order. Return the path of the refund."""
    data = bytes(12) + bytes.fromhex(SHOP.address[2:]) + amount.to_bytes(32, "big")
    sent = service.chain.inject(BUYER.address.lower(), TOKEN, selector("transfer(address,uint256)") + data)
    service.chain.mine()
    service.run_pass()
    (transfer,) = [
        each for each in service.get("/v1/unmatched-transfers")["items"] if each["transaction_hash"] == sent.hash
    ]
    return f"/v1/unmatched-transfers/{sent.hash}/{transfer['position']}/refund"


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


def test_refund_of_a_shared_payee_needs_a_confirmation(service: ServiceHarness) -> None:
    path = _authorize(service, 70)
    (listed,) = service.get("/v1/unmatched-transfers?reason=shared_payee")["items"]
    assert (listed["order_id"], f"{listed['position']}/refund") == (
        None,
        path.partition("/unmatched-transfers/")[2][67:],
    )
    for body in ({}, {"confirm_shared_payee": False}):
        error = service.refused(409, "confirmation_required", path, body)
        assert (error["argument"], "may have taken" in error["message"]) == ("confirm_shared_payee", True)
    assert service.get("/v1/refunds")["items"] == []
    made = service.made(path, {"confirm_shared_payee": True}, key="k")
    assert service.made(path, {"confirm_shared_payee": True}, key="k") == made
    service.settle()
    assert _paid(service) == [(BUYER.address.lower(), 70)]


def test_transfer_of_an_x402_response_is_neither_listed_nor_refunded(service: ServiceHarness) -> None:
    granted = GrantedAuthorization("grant", service.backend.chain_id, ADDRESS, BUYER.address, NONCE, SHOP.address, 70)
    with service.database.transaction() as tx:
        enter_authorization(Ledger(service.database, lambda: 0), tx, granted)
    path = _authorize(service, 70)
    assert service.get("/v1/unmatched-transfers")["items"] == []
    error = service.refused(409, "not_refundable", path, {"confirm_shared_payee": True})
    assert "pays an x402 response" in error["message"]
    service.refused(404, "not_found", path.replace("refund", "resolution"), {"note": "kept"})
    balance, sums = service.balance()
    assert ((sums["received"], sums["granted"], sums["unmatched"]), balance["faults"]) == (("70", "70", "0"), [])
    assert service.request("GET", "/v1/export.csv").text.splitlines()[1].startswith("granted,")
    assert _paid(service) == []
