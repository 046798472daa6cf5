"""Orders of a variable amount: a permit over a maximum, captured once by the real checkout for the final amount."""

from dataclasses import replace
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from foreseal.payments.chain import ChainLog, ChainReceipt, ConfirmationPolicy, ConfirmationTier
from foreseal.payments.chain.checkout import capture_call
from foreseal.payments.chain.token import AUTHORIZATION_USED, PAYMENT_CAPTURED, TRANSFERRED, address_topic, transfers
from foreseal.payments.ledger import DuplicateRecord, InsufficientAmount, TransitionNotAllowed
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.capture_checks import CaptureObstacle, NotCapturable
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.orders.terms import memo, permit
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.typed_data import Permit
from payments.people import BUYER, BUYERS, CHECKOUT, SHOP
from payments.scan import received
from payments.shop import ADDRESS, Make, Shop

pytestmark = pytest.mark.real_contracts
LOW = BUYER.address.lower()


def drafted(shop: Shop, id: str, maximum: int = 500, *, buyer: LocalAccount = BUYER, seconds: int = 3600) -> Permit:
    return shop.orders.draft_permit(id, shop.permit_terms(maximum, buyer=buyer, seconds=seconds))


def stored(shop: Shop, id: str, maximum: int = 500, *, buyer: LocalAccount = BUYER, seconds: int = 3600) -> str:
    message = drafted(shop, id, maximum, buyer=buyer, seconds=seconds)
    shop.orders.sign(id, shop.signed(message, buyer))
    shop.orders.store(id)
    return id


def test_order_with_a_maximum_reaches_a_smaller_final_capture(shop: Shop) -> None:
    message = drafted(shop, "a", 500)
    assert (message.owner, message.spender, message.value, message.nonce) == (BUYER.address, CHECKOUT, 500, 0)
    assert shop.status("a") == "Drafted / idle"
    shop.orders.sign("a", shop.signed(message))
    shop.orders.store("a")
    shop.captures.capture("a", 300)
    assert shop.status("a") == "Stored, unused / broadcast"
    shop.chain.step()
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / provisional"
    shop.chain.mine(12)
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / confirmed"
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    order, (moved,) = shop.orders.get("a"), received(shop.chain)
    assert (order.amount, order.actual, moved.amount, moved.nonce) == (500, 300, 300, order.nonce)
    assert (shop.balance().captured, shop.balance().faults) == (300, ())
    decided = next(entry for entry in shop.orders.timeline("a") if entry.trigger.startswith("merchant submits"))
    assert decided.details == {"amount": "300", "checkout": CHECKOUT}


def test_refunds_are_limited_by_the_capture_and_not_the_maximum(shop: Shop) -> None:
    shop.captures.capture(stored(shop, "a", 500), 300)
    shop.settle()
    shop.refunds.refund("r1", "a", 100)
    with pytest.raises(InsufficientAmount, match="201 units: 200 remain"):
        shop.refunds.refund("r2", "a", 201)
    shop.refunds.refund("r2", "a", 200)
    shop.settle()
    assert (shop.balance().refunded, shop.refunds.refundable("a")) == (300, 0)


@pytest.mark.parametrize(
    ("amount", "error"), [(None, ValueError), (0, ValueError), (501, ValueError), (-1, ValueError), (1.5, TypeError)]
)
def test_capture_outside_the_maximum_is_rejected(shop: Shop, amount: Any, error: type[Exception]) -> None:
    stored(shop, "a", 500)
    with pytest.raises(error, match="amount: "):
        shop.captures.capture("a", amount)
    assert shop.status("a") == "Stored, unused / idle"


def test_order_with_one_amount_has_no_maximum(shop: Shop) -> None:
    shop.stored("a", 500)
    with pytest.raises(ValueError, match="amount: must be the authorized 500, got 499"):
        shop.captures.capture("a", 499)
    shop.captures.capture("a", 500)
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def test_permit_order_is_captured_once(shop: Shop) -> None:
    shop.captures.capture(stored(shop, "a"), 200)
    with pytest.raises(TransitionNotAllowed):
        shop.captures.capture("a", 200)
    with pytest.raises(TransitionNotAllowed):
        shop.orders.void("a")
    shop.settle()
    with pytest.raises(TransitionNotAllowed):
        shop.captures.capture("a", 1)
    assert [each.amount for each in received(shop.chain)] == [200]


def test_id_that_the_checkout_captured_cannot_be_reused(shop: Shop) -> None:
    shop.captures.capture(stored(shop, "a"), 200)
    shop.chain.step()
    terms = replace(shop.permit_terms(500), name=shop.orders.get("a").nonce)
    with pytest.raises(DuplicateRecord, match="has already captured 0x"):
        shop.orders.draft_permit("b", terms)


def test_permit_submitted_by_a_stranger_changes_nothing(shop: Shop) -> None:
    stored(shop, "a", 500)
    order = shop.orders.get("a")
    shop.submit_permit(permit(order), order.signature, BUYERS[1])
    shop.chain.mine()
    shop.captures.capture("a", 300)
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    assert [each.amount for each in received(shop.chain)] == [300]


def test_permit_revoked_by_its_payer_expires_without_a_capture(shop: Shop) -> None:
    stored(shop, "a", 500, seconds=600)
    other = Permit(BUYER.address, BUYERS[1].address, 1, 0, shop.chain.time + 3600)
    shop.submit_permit(other, shop.signed(other), BUYER)
    shop.chain.mine()
    with pytest.raises(NotCapturable, match="EIP2612: invalid signature") as error:
        shop.captures.capture("a", 300)
    assert error.value.obstacle is CaptureObstacle.REVERTS
    shop.chain.advance(600)
    shop.chain.mine(shop.chain.finality - 1)
    with pytest.raises(NotExpired, match="no final block"):
        shop.progress.expire("a")
    shop.chain.mine(2)
    shop.progress.expire("a")
    assert shop.status("a") == "Expired / idle"


def test_voided_order_cannot_be_captured_or_canceled(shop: Shop) -> None:
    shop.orders.void(stored(shop, "a"))
    with pytest.raises(TransitionNotAllowed, match="Voided offchain"):
        shop.captures.capture("a", 1)
    for cancel in (lambda: shop.cancellations.message("a"), lambda: shop.cancellations.cancel("a", bytes(65))):
        with pytest.raises(NotCancelable, match="has a permit, which cannot be canceled"):
            cancel()
    assert shop.status("a") == "Voided offchain / idle"


def test_open_orders_have_distinct_permit_nonces(shop: Shop) -> None:
    stored(shop, "a", 500)
    with pytest.raises(DuplicateRecord, match="the permit of b has the nonce of the open order a"):
        stored(shop, "b", 400)
    shop.orders.void("a")
    shop.orders.store("b")
    shop.captures.capture("b", 400)
    shop.chain.mine()
    stored(shop, "c", 100)
    assert shop.orders.get("c").permit_nonce == 1


def test_a_capture_after_the_deadline_reverts_and_expires(shop: Shop) -> None:
    with pytest.raises(NotCapturable) as error:
        shop.captures.capture(stored(shop, "late", seconds=50), 1)
    assert error.value.obstacle is CaptureObstacle.LATE
    shop.captures.capture(stored(shop, "a", buyer=BUYERS[1], seconds=100), 300)
    shop.chain.advance(200)
    shop.chain.mine(shop.chain.finality + 1)
    shop.go_on()
    assert shop.status("a") == "Stored, unused / failed"
    shop.progress.expire("a")
    assert shop.status("a") == "Expired / idle"
    assert received(shop.chain) == []


def test_finally_failed_capture_can_use_another_amount(shop: Shop) -> None:
    shop.captures.capture(stored(shop, "a", 500), 500)
    shop.chain.change(lambda state: state.balances.update({LOW: 400}))
    shop.chain.mine(shop.chain.finality + 1)
    shop.go_on()
    assert shop.status("a") == "Stored, unused / failed"
    with pytest.raises(NotCapturable, match="400 of 401 units"):
        shop.captures.capture("a", 401)
    shop.captures.capture("a", 400)
    shop.settle()
    assert (shop.status("a"), shop.orders.get("a").actual) == ("Used, captured / final", 400)
    assert shop.balance().faults == ()


def test_capture_removed_by_a_reorganization_is_included_again(shop: Shop) -> None:
    shop.captures.capture(stored(shop, "a"), 300)
    shop.chain.mine(3)
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"
    shop.chain.reorganize(3, dropped=True)
    shop.watcher.poll()
    assert (shop.status("a"), shop.rows()) == ("Stored, unused / unknown", set())
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    assert shop.rows() == {each.row() for each in received(shop.chain)}
    assert len(shop.rows()) == 1


def test_capture_missing_from_the_database_is_found_with_its_amount(make: Make) -> None:
    shop = make(ConfirmationPolicy(ConfirmationTier.SEALED))
    stored(shop, "a", 500)
    order = shop.orders.get("a")
    shop.chain.inject(SHOP.address.lower(), CHECKOUT, capture_call(order.nonce, 123, permit(order), order.signature))
    shop.chain.mine()
    with pytest.raises(NotCapturable) as error:
        shop.captures.capture("a", 300)
    assert error.value.obstacle is CaptureObstacle.USED
    assert (shop.status("a"), shop.orders.get("a").actual) == ("Used, captured / confirmed", 123)
    shop.watcher.poll()
    assert shop.balance().captured == 123
    assert shop.balance().faults == ()


@pytest.mark.parametrize("forbidden", [BUYER.address, CHECKOUT, SHOP.address])
@pytest.mark.parametrize("rule", ["blacklisted", "policy_forbids"])
def test_forbidden_accounts_cannot_participate(shop: Shop, forbidden: str, rule: str) -> None:
    stored(shop, "a")
    shop.chain.change(lambda state: getattr(state, rule).add(forbidden.lower()))
    with pytest.raises(NotCapturable, match=forbidden) as error:
        shop.captures.capture("a", 1)
    assert error.value.obstacle is CaptureObstacle.FORBIDDEN


def test_invalid_permit_terms_are_rejected(shop: Shop) -> None:
    plain = Orders(shop.ledger, shop.rpc, Merchant(shop.merchant.domain, SHOP.address))
    terms = shop.permit_terms(5)
    with pytest.raises(ValueError, match="checkout: the merchant has no checkout contract"):
        plain.draft_permit("a", terms)
    for wrong, name in [
        (replace(terms, maximum=0), "maximum"),
        (replace(terms, deadline=2**63 - 1), "deadline"),
        (replace(terms, payer="0x12"), "payer"),
        (replace(terms, name=b""), "name"),
    ]:
        with pytest.raises(ValueError, match=name):
            shop.orders.draft_permit("a", wrong)
    message = shop.orders.draft_permit("a", terms)
    for signature in (b"", shop.signed(message) + b"\0", shop.signed(message, BUYERS[1])):
        with pytest.raises(InvalidSignature):
            shop.orders.sign("a", signature)
    other = Merchant(shop.merchant.domain, SHOP.address, checkout=BUYERS[1].address)
    with pytest.raises(NotCapturable) as error:
        Captures(shop.ledger, shop.sender, other).capture(stored(shop, "b", buyer=BUYERS[2]), 1)
    assert error.value.obstacle is CaptureObstacle.DOMAIN


def test_only_the_checkout_of_an_order_reports_its_capture(shop: Shop) -> None:
    """Logs of another contract can name an order, but do not pay it."""
    stored(shop, "a", 500)
    payer, payee = address_topic(BUYER.address), address_topic(SHOP.address)
    used = ChainLog(ADDRESS, (AUTHORIZATION_USED, payer, bytes(32)), b"", 1, "0x1", "0x2", 0)
    transfer = ChainLog(ADDRESS, (TRANSFERRED, payer, payee), (300).to_bytes(32), 1, "0x1", "0x2", 1)

    def read_transfer(
        *, amount: int = 300, who: bytes = payer, before: tuple[ChainLog, ...] = ()
    ) -> tuple[bytes | None, str | None]:
        data = amount.to_bytes(32) + (500).to_bytes(32)
        said = ChainLog(CHECKOUT, (PAYMENT_CAPTURED, memo("a"), who), data, 1, "0x1", "0x2", 2)
        (each,) = transfers(ChainReceipt("0x2", 1, "0x1", True, 90_000, (*before, transfer, said)), ADDRESS)
        return each.nonce, each.checkout

    assert read_transfer() == (memo("a"), CHECKOUT)
    assert read_transfer(amount=299) == read_transfer(who=payee) == (None, None)
    assert read_transfer(before=(used,)) == (bytes(32), None)
