"""Signatures of several orders that are stored together."""

import pytest

from foreseal.payments.ledger import DuplicateRecord, Trigger
from foreseal.payments.orders.acceptances import Acceptances, PayerSignature
from payments.people import CHECKOUT
from payments.shop import BUYER, BUYERS, Shop


def store(shop: Shop, *signatures: PayerSignature) -> dict[str, Exception]:
    """Store signatures in one transaction. Return the reasons against some, by id."""
    acceptances = Acceptances(shop.ledger, shop.rpc, shop.merchant)
    checked = [each for each in acceptances.check(signatures) if not isinstance(each, Exception)]
    assert len(checked) == len(signatures)
    with shop.ledger.database.transaction() as tx:
        return acceptances.store(tx, checked)


def states(shop: Shop, *ids: str) -> list[str]:
    return [shop.status(id) for id in ids]


def test_two_orders_with_one_authorization(shop: Shop) -> None:
    terms = shop.terms(500)
    signatures = [PayerSignature(id, shop.signed(shop.orders.draft(id, terms))) for id in ("a", "b")]
    shop.orders.draft("c", shop.terms(500, buyer=BUYERS[1]))
    third = PayerSignature("c", shop.signature_of("c", BUYERS[1]))
    rejected = store(shop, *signatures, third)
    assert {id: type(error) for id, error in rejected.items()} == {"b": DuplicateRecord}
    assert states(shop, "a", "b", "c") == ["Stored, unused / idle", "Drafted / idle", "Stored, unused / idle"]
    assert [entry.trigger for entry in shop.orders.timeline("b")] == [Trigger.SET_TERMS]


@pytest.mark.real_contracts
def test_two_permits_with_one_nonce(shop: Shop) -> None:
    assert shop.merchant.checkout == CHECKOUT
    signatures = []
    for id in ("a", "b"):
        terms = shop.permit_terms(500)
        signatures.append(PayerSignature(id, shop.signed(shop.orders.draft_permit(id, terms))))
    rejected = store(shop, *signatures)
    assert list(rejected) == ["b"]
    assert "the permit of b has the nonce of the open order a" in str(rejected["b"])
    assert states(shop, "a", "b") == ["Stored, unused / idle", "Drafted / idle"]


def test_repeated_signature_changes_nothing_and_binds_a_signed_order(shop: Shop) -> None:
    signature = shop.signed(shop.orders.draft("a", shop.terms(500)))
    given = PayerSignature("a", signature)
    shop.orders.sign("a", signature)
    assert (store(shop, given), states(shop, "a")) == ({}, ["Stored, unused / idle"])
    before = shop.orders.timeline("a")
    assert (store(shop, given), shop.orders.timeline("a")) == ({}, before)


def test_unassigned_and_assigned_orders_together(shop: Shop) -> None:
    shop.unassigned("a")
    shop.orders.draft("b", shop.terms(500))
    signatures = [PayerSignature("a", shop.signature_of("a", BUYERS[1]), BUYERS[1].address)]
    signatures.append(PayerSignature("b", shop.signature_of("b", BUYER)))
    assert store(shop, *signatures) == {}
    assert [shop.orders.get(id).payer for id in ("a", "b")] == [BUYERS[1].address, BUYER.address]
    details = [entry.details.get("payer") for entry in shop.orders.timeline("a")]
    assert BUYERS[1].address in details
