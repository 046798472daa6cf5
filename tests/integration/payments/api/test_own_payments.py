"""Buyers who submit the authorization of an order themselves, before the service has their signature."""

from typing import Any

import pytest

from foreseal.payments.typed_data import TransferAuthorization
from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment
from payments.fake.contracts import TOKEN, call_data
from payments.scan import received
from payments.shop import BUYER, BUYERS, SHOP

_FUNCTION = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"


def pay_directly(service: ServiceHarness, nonce: bytes, amount: int = 500) -> None:
    """Submit a transfer of the buyer with this nonce."""
    terms = (BUYER.address, SHOP.address, amount, 0, 2**63, nonce)
    domain = service.backend.destinations.default.merchant.domain
    signature = TransferAuthorization(*terms).sign(domain, bytes(BUYER.key))
    service.chain.inject(BUYER.address.lower(), TOKEN, call_data(_FUNCTION, *terms, signature))
    service.chain.mine()


def sign(service: ServiceHarness, id: str) -> Any:
    body = {"signature": service.signature(id), "payer": BUYER.address}
    return service.made(f"/v1/orders/{id}/signature", body)


@pytest.mark.parametrize("auto_capture", [False, True])
@pytest.mark.parametrize("payer", [{}, {"payer": BUYER.address}])
def test_own_payment_before_the_signature_captures_the_order(
    service: ServiceHarness, payer: dict[str, str], auto_capture: bool
) -> None:
    service.made("/v1/orders", {"id": "a", "amount": "500", "auto_capture": auto_capture} | payer)
    pay_directly(service, service.order("a").nonce)
    service.run_pass()
    (item,) = service.get("/v1/unmatched-transfers")["items"]
    assert (item["reason"], item["order_id"]) == ("direct", "a")
    signed = sign(service, "a")
    assert (signed["order"]["state"], signed["capture_error"]) == ("Used, captured", None)
    service.settle()
    assert service.state("a") == "Used, captured / final"
    assert service.order("a").last_error is None
    assert service.balance()[1]["captured"] == "500"
    assert len(received(service.chain)) == 1


def test_own_payment_of_another_amount_rules_the_signature_out(service: ServiceHarness) -> None:
    service.draft("a")
    pay_directly(service, service.order("a").nonce, 499)
    service.run_pass()
    error = service.refused(409, "duplicate", "/v1/orders/a/signature", {"signature": service.signature("a")})
    assert "which does not pay it" in error["message"]
    assert service.state("a") == "Drafted / idle"


@pytest.mark.parametrize("depth", [0, 3], ids=["", "reorganized"])
def test_resolved_payment_never_captures_its_order(service: ServiceHarness, depth: int) -> None:
    service.draft("a")
    pay_directly(service, service.order("a").nonce)
    service.run_pass()
    (item,) = service.get("/v1/unmatched-transfers")["items"]
    path = f"/v1/unmatched-transfers/{item['transaction_hash']}/{item['position']}/resolution"
    service.made(path, {"note": "handed over at the counter"})
    body = {"signature": service.signature("a")}
    if depth:
        # The transfer leaves the chain, and returns after the signature.
        service.chain.reorganize(depth, late=2)
        service.run_pass()
        service.made("/v1/orders/a/signature", body)
    else:
        error = service.refused(409, "duplicate", "/v1/orders/a/signature", body)
        assert "refunded or resolved" in error["message"]
    service.settle()
    assert service.state("a") == ("Stored, unused / idle" if depth else "Drafted / idle")
    (item,) = service.get("/v1/unmatched-transfers")["items"]
    assert item["resolution"]["note"] == "handed over at the counter"
    assert service.balance()[1]["captured"] == "0"


@pytest.mark.parametrize("capture", [False, True])
def test_payment_with_a_used_authorization_is_rejected(service: ServiceHarness, capture: bool) -> None:
    body = payment(service, "a", capture=capture)
    pay_directly(service, bytes.fromhex(body["nonce"][2:]))
    service.run_pass()
    assert service.refused(409, "not_capturable", "/v1/payments", body)["reason"] == "authorization_used"
    assert service.ids() == []


def test_invalid_signature_rejects_no_other_payment(service: ServiceHarness) -> None:
    bodies = [payment(service, f"p{number}", capture=False) for number in range(4)]
    bodies[1]["signature"] = payment(service, "p1", buyer=BUYERS[1])["signature"]
    items = service.made("/v1/payments/batch", {"payments": bodies})["items"]
    assert [item["status"] for item in items] == [201, 422, 201, 201]
