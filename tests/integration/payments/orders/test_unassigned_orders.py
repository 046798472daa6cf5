"""Orders without payer: the first account whose signature is accepted becomes the payer, and stays it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from foreseal.payments.disbursements.refunds import RefundedTransfer
from foreseal.payments.ledger import ConcurrentUpdate, DuplicateRecord, OrderState, TransitionNotAllowed
from foreseal.payments.ledger.models import AuthorizationRecord, OrderRecord, UnmatchedTransferRecord
from foreseal.payments.orders.acceptances import CheckedSignature
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.payers import (
    PayerMismatch,
    PayerRequired,
    Signer,
    UnassignedPermitTerms,
    UnassignedTerms,
    assigned_payer,
)
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.orders.terms import message_by, order_typed_data
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.typed_data import TransferAuthorization
from payments.people import BATCH_CAPTURE, CHECKOUT
from payments.scan import received
from payments.shop import ADDRESS, BUYER, BUYERS, SHOP, Make, Shop

OTHER = BUYERS[1]
# Order of the curve: (r, n - s) with the other v is the same key's second signature.
CURVE = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def unmatched(shop: Shop) -> list[tuple[str, str | None]]:
    with shop.database.reading() as tx:
        return [(row.reason.value, row.order_id) for row in tx.execute(select(UnmatchedTransferRecord))]


def authorizations(shop: Shop) -> list[tuple[str, str]]:
    with shop.database.reading() as tx:
        return [(row.order_id, row.payer) for row in tx.execute(select(AuthorizationRecord))]


def test_signer_becomes_the_payer_and_the_order_is_captured(shop: Shop) -> None:
    shop.unassigned("a")
    order = shop.orders.get("a")
    assert (order.payer, order.state) == (None, OrderState.DRAFTED)
    with pytest.raises(PayerRequired, match="payer: required, since order a has no payer yet"):
        assigned_payer(order)
    data = order_typed_data(order, shop.merchant.domain)
    assert list(data["message"]) == ["to", "value", "validAfter", "validBefore", "nonce"]
    full = message_by(order, Signer(BUYER.address, None)).typed_data(shop.merchant.domain)
    assert full["message"] == {"from": BUYER.address, **data["message"]}
    shop.accept("a")
    assert (shop.orders.get("a").payer, shop.status("a")) == (BUYER.address, "Stored, unused / idle")
    assert order_typed_data(shop.orders.get("a"), shop.merchant.domain) == full
    shop.captures.capture("a")
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    (paid,) = received(shop.chain)
    assert (paid.amount, paid.sender) == (500, BUYER.address.lower())
    assert [entry.details.get("payer", "") for entry in shop.orders.timeline("a")[:3]] == [None, BUYER.address, ""]
    shop.refunds.refund("r", "a", 200)
    shop.settle()
    assert (shop.refunds.get("r").recipient, shop.balance().faults) == (BUYER.address, ())


def test_payer_is_required_and_never_replaced(shop: Shop) -> None:
    shop.unassigned("a")
    signature = shop.signature_of("a")
    for call in (shop.orders.sign, shop.orders.accept):
        with pytest.raises(PayerRequired, match="payer: "):
            call("a", signature)
    with pytest.raises(InvalidSignature, match=f"signed by {BUYER.address}|signed by 0x"):
        shop.orders.accept("a", signature, OTHER.address)
    assert (shop.orders.get("a").payer, shop.status("a")) == (None, "Drafted / idle")
    other = shop.signature_of("a", OTHER)
    shop.orders.sign("a", signature, BUYER.address.lower())
    with pytest.raises(PayerMismatch, match=f"payer: {OTHER.address} is not {BUYER.address}, the payer of order a"):
        shop.orders.accept("a", other, OTHER.address)
    with pytest.raises(TransitionNotAllowed):
        shop.orders.sign("a", signature, BUYER.address)
    shop.orders.store("a")
    assert authorizations(shop) == [("a", BUYER.address)]


def test_payer_of_the_terms_rejects_another_one(shop: Shop) -> None:
    message = shop.draft("a")
    signature = shop.signed(message)
    with pytest.raises(PayerMismatch):
        shop.orders.accept("a", signature, OTHER.address)
    shop.orders.accept("a", signature, BUYER.address)
    assert shop.status("a") == "Stored, unused / idle"


@pytest.mark.parametrize(
    ("payer", "message"),
    [
        ("0x" + "00" * 20, "payer: must not be the zero address"),
        (SHOP.address, "payer: must not be the payee"),
        (BATCH_CAPTURE, "payer: must not be the payee"),
        (ADDRESS, "payer: must not be a contract of the merchant"),
        (CHECKOUT, "payer: must not be a contract of the merchant"),
        ("0x12", "payer: '0x12' is not an address"),
        (BUYER.address.swapcase().replace("0X", "0x"), "payer: .* has a wrong checksum"),
    ],
)
@pytest.mark.fake_chain
def test_account_that_cannot_pay_is_rejected(make: Make, payer: str, message: str) -> None:
    shop = make(batch_capture=BATCH_CAPTURE)
    shop.unassigned("a")
    with pytest.raises(ValueError, match=message):
        shop.orders.accept("a", bytes(65), payer)
    assert (shop.orders.get("a").payer, shop.status("a")) == (None, "Drafted / idle")


@pytest.mark.fake_chain
def test_malleable_signature_assigns_no_payer(shop: Shop) -> None:
    shop.unassigned("a")
    signature = shop.signature_of("a")
    s, v = int.from_bytes(signature[32:64]), signature[64]
    malleable = signature[:32] + (CURVE - s).to_bytes(32) + bytes([55 - v])
    with pytest.raises(InvalidSignature, match="upper half"):
        shop.orders.accept("a", malleable, BUYER.address)
    assert shop.orders.get("a").payer is None


def test_signature_serves_one_order(shop: Shop) -> None:
    shop.unassigned("a")
    shop.unassigned("b")
    signature = shop.signature_of("a")
    with pytest.raises(InvalidSignature):
        shop.orders.accept("b", signature, BUYER.address)
    # Another order may only have the same nonce if the merchant's software repeats it.
    order = shop.orders.get("a")
    terms = UnassignedTerms(order.amount, order.valid_after, order.valid_before, order.nonce)
    shop.orders.draft_unassigned("c", terms)
    shop.orders.accept("a", signature, BUYER.address)
    with pytest.raises(DuplicateRecord, match="the authorization of c belongs to another order"):
        shop.orders.accept("c", signature, BUYER.address)
    assert (shop.orders.get("c").payer, shop.status("c")) == (None, "Drafted / idle")


def test_contract_wallet_becomes_the_payer(shop: Shop) -> None:
    shop.chain.wallets[BUYER.address.lower()] = OTHER.address.lower()
    shop.unassigned("a")
    order = shop.orders.get("a")
    with pytest.raises(InvalidSignature, match="does not accept"):
        shop.orders.accept("a", shop.signature_of("a", BUYER), BUYER.address)
    signature = shop.signed(message_by(order, Signer(BUYER.address, None)), OTHER)
    shop.orders.accept("a", signature, BUYER.address)
    shop.captures.capture("a")
    shop.settle()
    assert (shop.orders.get("a").payer, shop.status("a")) == (BUYER.address, "Used, captured / final")


@pytest.mark.fake_chain
def test_one_of_several_racing_wallets_wins(shop: Shop) -> None:
    shop.unassigned("a")
    signatures = {buyer.address: shop.signature_of("a", buyer) for buyer in BUYERS}
    barrier = Barrier(len(BUYERS))
    checked, check = [], shop.orders._check

    def meet(*given: Any) -> CheckedSignature:
        signature = check(*given)
        checked.append(signature.terms.payer)
        barrier.wait(30)
        return signature

    shop.orders._check = meet  # type: ignore[method-assign]

    def accept(payer: str) -> Exception | None:
        try:
            shop.orders.accept("a", signatures[payer], payer)
        except Exception as error:
            return error
        return None

    with ThreadPoolExecutor(len(BUYERS)) as pool:
        results = dict(zip(signatures, pool.map(accept, signatures), strict=True))
    assert sorted(checked) == sorted(signatures)
    (winner,) = [payer for payer, error in results.items() if error is None]
    assert {type(error) for error in results.values() if error is not None} == {PayerMismatch}
    order = shop.orders.get("a")
    assert (order.payer, order.signature) == (winner, signatures[winner])
    assert authorizations(shop) == [("a", winner)]


def test_void_and_expiry_without_a_payer(shop: Shop) -> None:
    for id, seconds in (("voided", 3600), ("expired", 300)):
        shop.unassigned(id, seconds=seconds)
    with pytest.raises(TransitionNotAllowed):
        shop.captures.capture("voided")
    with pytest.raises(NotCancelable, match="orders: voided has no payer, so nothing was signed"):
        shop.cancellations.message("voided")
    signature = shop.signature_of("voided")
    shop.orders.void("voided")
    with pytest.raises(NotCancelable, match="has no payer"):
        shop.cancellations.cancel("voided", bytes(65))
    with pytest.raises(TransitionNotAllowed):
        shop.orders.accept("voided", signature, BUYER.address)
    shop.draft("known")
    with pytest.raises(TransitionNotAllowed):
        shop.orders.void("known")
    shop.chain.advance(3600)
    shop.chain.mine(shop.chain.finality + 1)
    for id in ("voided", "expired"):
        shop.progress.expire(id)
        assert (shop.status(id), shop.orders.get(id).payer) == ("Expired / idle", None)


@pytest.mark.fake_chain
def test_expiry_yields_to_a_signature_during_its_reads(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.unassigned("a", seconds=100)
    signature = shop.signature_of("a")
    shop.chain.advance(200)
    shop.chain.mine(shop.chain.finality + 1)
    read = shop.progress._is_used

    def signed_meanwhile(*given: Any) -> bool:
        is_expired = read(*given)
        shop.orders.accept("a", signature, BUYER.address)
        return is_expired

    monkeypatch.setattr(shop.progress, "_is_used", signed_meanwhile)
    with pytest.raises(ConcurrentUpdate, match="a got its payer during the read"):
        shop.progress.expire("a")
    assert shop.status("a") == "Stored, unused / idle"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"amount": 0}, ValueError, "amount: must not be 0"),
        ({"amount": 1.5}, TypeError, "amount: "),
        ({"valid_before": 0}, ValueError, "valid_before: must be after valid_after"),
        ({"valid_before": 2**63}, ValueError, "valid_before: must be after valid_after and at most"),
        ({"valid_after": -1}, ValueError, "valid_after: "),
        ({"nonce": b"short"}, ValueError, "nonce: must have 32 bytes"),
    ],
)
@pytest.mark.fake_chain
@pytest.mark.sqlite_only
def test_invalid_terms_without_payer_are_rejected(
    shop: Shop, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    terms = {"amount": 5, "valid_after": 0, "valid_before": 2**40, "nonce": bytes(32)} | change
    with pytest.raises(error, match=message):
        shop.orders.draft_unassigned("a", UnassignedTerms(**terms))
    assert shop.in_state(*OrderState) == []


def test_own_authorization_before_the_signature_captures_the_order(shop: Shop) -> None:
    shop.unassigned("a")
    sent = shop.pay_directly("a")
    shop.watcher.poll()
    assert (unmatched(shop), shop.status("a")) == ([("direct", "a")], "Drafted / idle")
    entry = shop.orders.timeline("a")[-1]
    assert entry.details == {"reason": "direct", "transaction": sent, "amount": "500", "payer": None}
    shop.accept("a")
    assert (unmatched(shop), shop.status("a")) == ([], "Used, captured / provisional")
    shop.settle()
    assert (shop.status("a"), shop.balance().captured, shop.balance().faults) == ("Used, captured / final", 500, ())
    shop.refunds.refund("r", "a")
    shop.settle()
    assert shop.balance().refunded == 500


def test_payment_seen_after_the_signature_captures_the_order(shop: Shop) -> None:
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.accept("a")
    assert shop.status("a") == "Stored, unused / idle"
    shop.settle()
    assert (shop.status("a"), unmatched(shop)) == ("Used, captured / final", [])


def test_matched_earlier_payment_reopens_after_a_reorganization(shop: Shop) -> None:
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.watcher.poll()
    shop.accept("a")
    shop.chain.reorganize(1, dropped=True)
    shop.watcher.poll()
    assert (shop.status("a"), unmatched(shop), shop.rows()) == ("Stored, unused / unknown", [], set())


def test_payment_of_another_wallet_stays_listed_with_the_order(shop: Shop) -> None:
    shop.unassigned("a")
    shop.pay_directly("a", OTHER)
    shop.pay_directly("a", BUYERS[2], amount=300)
    shop.watcher.poll()
    assert sorted(unmatched(shop)) == [("direct", "a"), ("underpaid", "a")]
    shop.accept("a")
    shop.captures.capture("a")
    shop.settle()
    assert (shop.status("a"), sorted(unmatched(shop))) == (
        "Used, captured / final",
        [("direct", "a"), ("underpaid", "a")],
    )
    assert (shop.balance().captured, shop.balance().unmatched, shop.balance().faults) == (500, 800, ())


def test_payment_of_another_amount_uses_up_the_authorization(shop: Shop) -> None:
    shop.unassigned("a")
    sent = shop.pay_directly("a", amount=499)
    shop.watcher.poll()
    with pytest.raises(DuplicateRecord, match=f"the authorization of a was used by {sent}, which does not pay it"):
        shop.accept("a")
    assert (shop.status("a"), unmatched(shop), authorizations(shop)) == ("Drafted / idle", [("underpaid", "a")], [])
    shop.accept("a", OTHER)
    assert shop.orders.get("a").payer == OTHER.address


def test_refunded_payment_uses_up_the_authorization(shop: Shop) -> None:
    shop.unassigned("a")
    sent = shop.pay_directly("a")
    shop.settle()
    ((_, position, *_),) = shop.rows()
    assert shop.refunds.reserve_transfer("r", RefundedTransfer(sent, position), None, lambda _: None)
    with pytest.raises(DuplicateRecord, match=f"the authorization of a was used by {sent}, which does not pay it"):
        shop.accept("a")
    shop.settle()
    assert (shop.status("a"), shop.orders.get("a").payer) == ("Drafted / idle", None)
    assert (shop.balance().refunded, shop.balance().captured, shop.balance().faults) == (500, 0, ())


def test_payment_to_an_ended_order_is_late(shop: Shop) -> None:
    shop.unassigned("a")
    shop.orders.void("a")
    shop.pay_directly("a")
    shop.watcher.poll()
    assert unmatched(shop) == [("late", "a")]
    assert shop.orders.timeline("a")[-1].details["payer"] is None


@pytest.mark.fake_chain
def test_watcher_finds_a_payer_that_signs_during_its_queries(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from foreseal.payments.transfers import matching, referenced_orders

    shop.unassigned("a")
    shop.pay_directly("a")
    shop.accept("a")
    find, calls = referenced_orders._find_by_authorization, []

    def before_the_commit(*given: Any) -> OrderRecord | None:
        calls.append(given)
        return None if len(calls) == 1 else find(*given)

    monkeypatch.setattr(matching, "_plain_captures", lambda *_: {})
    monkeypatch.setattr(referenced_orders, "_find_by_authorization", before_the_commit)
    shop.watcher.poll()
    assert (len(calls), shop.status("a")) == (2, "Used, captured / provisional")


def _permit(shop: Shop, id: str, maximum: int = 500) -> str:
    terms = shop.permit_terms(maximum)
    shop.orders.draft_unassigned_permit(id, UnassignedPermitTerms(terms.maximum, terms.deadline, terms.name))
    return id


@pytest.mark.real_contracts
def test_permit_has_the_nonce_of_its_signer(shop: Shop) -> None:
    for number, id in enumerate(("first", "second")):
        _permit(shop, id)
        order = shop.orders.get(id)
        assert (order.payer, order.permit_nonce) == (None, None)
        data = order_typed_data(order, shop.merchant.domain)["message"]
        assert list(data) == ["spender", "value", "deadline"]
        shop.accept(id)
        assert (shop.orders.get(id).payer, shop.orders.get(id).permit_nonce) == (BUYER.address, number)
        shop.captures.capture(id, 300)
        shop.settle()
        assert shop.status(id) == "Used, captured / final"
    assert [each.amount for each in received(shop.chain)] == [300, 300]


@pytest.mark.real_contracts
def test_permit_of_two_orders_with_equal_terms_serves_one(shop: Shop) -> None:
    deadline = shop.chain.time + 3600
    for id, name in (("a", 1), ("b", 2)):
        terms = UnassignedPermitTerms(500, deadline, name.to_bytes(32))
        shop.orders.draft_unassigned_permit(id, terms)
    signature = shop.signature_of("a")
    assert signature == shop.signature_of("b")
    shop.orders.accept("a", signature, BUYER.address)
    with pytest.raises(DuplicateRecord, match="the permit of b has the nonce of the open order a"):
        shop.orders.accept("b", signature, BUYER.address)
    shop.accept("b", OTHER)
    assert [shop.orders.get(id).payer for id in "ab"] == [BUYER.address, OTHER.address]


@pytest.mark.real_contracts
def test_capture_of_a_lost_database_refers_to_the_order_without_payer(shop: Shop) -> None:
    _permit(shop, "a")
    order = shop.orders.get("a")
    shop.accept("a")
    shop.captures.capture("a", 300)
    shop.chain.mine()
    with shop.database.transaction() as tx:  # as in a backup from before the signature
        tx.exec_driver_sql("DELETE FROM authorizations")
        tx.exec_driver_sql("UPDATE orders SET payer = NULL, permit_nonce = NULL, state = 'Drafted', step = 'idle'")
    shop.watcher.poll()
    assert (unmatched(shop), order.payer) == ([("direct", "a")], None)
    shop.chain.advance(3700)
    shop.chain.mine(shop.chain.finality + 1)
    shop.progress.expire("a")
    assert shop.status("a") == "Expired / idle"


def test_batch_contract_captures_orders_without_payer(make: Make) -> None:
    shop = make(batch_capture=BATCH_CAPTURE)
    buyers: list[LocalAccount] = [BUYER, OTHER]
    for id, buyer in zip("ab", buyers, strict=True):
        shop.accept(shop.unassigned(id), buyer)
        assert shop.orders.get(id).payee == BATCH_CAPTURE
        shop.captures.capture(id)
    shop.settle()
    assert [shop.status(id) for id in "ab"] == ["Used, captured / final"] * 2
    assert (shop.balance().captured, shop.balance().faults) == (1000, ())
    with pytest.raises(NotExpired):
        shop.progress.expire("a")


def test_authorization_of_other_terms_with_the_nonce_is_no_capture(shop: Shop) -> None:
    """A transfer to the merchant by a foreign nonce refers to no order."""
    shop.unassigned("a")
    terms = (BUYER.address, SHOP.address, 500, 0, 2**63, bytes(31) + b"\xff")
    assert TransferAuthorization(*terms).nonce != shop.orders.get("a").nonce
    shop.pay(500)
    shop.watcher.poll()
    assert unmatched(shop) == [("unmatched", None)]
