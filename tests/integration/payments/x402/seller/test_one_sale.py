"""An authorization pays one sale, an order or an x402 response, in any order of grant, signature and transfer."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from x402.schemas import PaymentPayload, SettleResponse

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from foreseal.payments.disbursements.refunds import NotRefundable, RefundedTransfer
from foreseal.payments.ledger import DuplicateRecord, GrantState, OrderState
from foreseal.payments.ledger.models import (
    AuthorizationRecord,
    TransferEnd,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.transfers.grant_authorizations import AuthorizationTaken, enter_authorization
from foreseal.payments.transfers.transfer_ends import end_transfer
from foreseal.payments.x402.payment_key import Payment, PaymentKey
from foreseal.payments.x402.seller import grants as grants_module
from foreseal.payments.x402.seller.grants import GrantedResponse, GrantLease, GrantRequest, Grants
from live.blocks import wait_for
from payments.fake.contracts import TOKEN, call_data
from payments.shop import ADDRESS, BUYER, SHOP, Killed, Make, Shop
from payments.x402.paying import demand
from payments.x402.world import NETWORK

RESPONSE = GrantedResponse(200, (), b"delivered")
PAYS_AN_ORDER, ALREADY_USED = "authorization_pays_an_order", "authorization_already_used"


class Seller:
    """The grants of a seller with the payee and the database of a shop."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.grants = Grants(shop.ledger)

    def request(self, nonce: bytes, amount: int | None = 500, contract: str = ADDRESS, **changes: Any) -> GrantRequest:
        key = PaymentKey(self.shop.chain.chain_id, contract, BUYER.address, nonce)
        payment = Payment(key, ADDRESS, SHOP.address, amount, changes.pop("deadline", self.shop.chain.time + 60))
        required = demand(500, **changes)
        return GrantRequest(payment, PaymentPayload(payload={}, accepted=required), required, bytes(32))

    def grant(self, nonce: bytes, amount: int | None = 500, contract: str = ADDRESS, **changes: Any) -> GrantLease:
        lease = self.grants.grant(self.request(nonce, amount, contract, **changes))
        assert lease is not None
        return lease

    def grant_order(self, id: str) -> GrantLease:
        """Grant a response for a payment with the nonce of an order."""
        return self.grant(self.shop.orders.get(id).nonce)

    def settle(self, lease: GrantLease, transaction: str, charged: int = 500) -> None:
        self.grants.answer(lease, RESPONSE, charged)
        response = SettleResponse(success=True, transaction=transaction, network=NETWORK, payer=BUYER.address)
        self.grants.settle(lease, response)

    def release(self, lease: GrantLease) -> None:
        row = self.grants.find(lease.id)
        assert row is not None
        assert self.grants.release(row, "unsettled", lease)


@pytest.fixture
def seller(shop: Shop) -> Seller:
    return Seller(shop)


def sales(shop: Shop) -> list[tuple[str | None, str | None]]:
    """Return order and grant of each authorization."""
    with shop.database.reading() as tx:
        return [(row.order_id, row.grant_id) for row in fetch_all(tx, select(AuthorizationRecord))]


def paid(shop: Shop) -> list[tuple[str | None, str | None]]:
    """Return order and grant of each transfer, in the order of the chain."""
    order = (TransferRecord.block_number, TransferRecord.log_index)
    with shop.database.reading() as tx:
        return [(row.order_id, row.grant_id) for row in fetch_all(tx, select(TransferRecord).order_by(*order))]


def unmatched(shop: Shop) -> list[tuple[str, str | None]]:
    with shop.database.reading() as tx:
        return [(row.reason.value, row.order_id) for row in fetch_all(tx, select(UnmatchedTransferRecord))]


def transfer(shop: Shop) -> RefundedTransfer:
    """Return the only transfer."""
    ((hash, position, *_),) = shop.rows()
    return RefundedTransfer(hash, position)


def refund(shop: Shop) -> None:
    assert shop.refunds.reserve_transfer("r", transfer(shop), None, lambda _: None)


def resolve(shop: Shop) -> None:
    unmatched_transfer = transfer(shop)
    with shop.database.transaction() as tx:
        key = (unmatched_transfer.transaction_hash, unmatched_transfer.position)
        assert end_transfer(tx, shop.chain.chain_id, key, TransferEnd.RESOLVED)


def refused(seller: Seller, id: str) -> str:
    """Return the reason against a grant for the nonce of an order. Nothing of it is stored."""
    before = sales(seller.shop)
    with pytest.raises(AuthorizationTaken) as raised:
        seller.grant_order(id)
    assert sales(seller.shop) == before
    assert seller.grants.find(seller.request(seller.shop.orders.get(id).nonce).payment.key.name) is None
    return raised.value.reason


def test_transfer_of_a_grant_pays_no_order(shop: Shop, seller: Seller) -> None:
    shop.unassigned("a")
    lease = seller.grant_order("a")
    sent = shop.pay_directly("a")
    shop.watcher.poll()
    assert (paid(shop), unmatched(shop)) == ([(None, lease.id)], [])
    assert shop.orders.timeline("a")[-1].details == {
        "reason": "granted",
        "transaction": sent,
        "amount": "500",
        "payer": None,
    }
    with pytest.raises(DuplicateRecord, match="the authorization of a belongs to an x402 payment"):
        shop.accept("a")
    seller.settle(lease, sent)
    shop.settle()
    assert (shop.status("a"), sales(shop), unmatched(shop)) == ("Drafted / idle", [(None, lease.id)], [])
    sums = shop.balance()
    assert (sums.received, sums.granted, sums.captured, sums.unmatched, sums.faults) == (500, 500, 0, 0, ())


def test_authorization_of_an_order_is_not_granted(shop: Shop, seller: Seller) -> None:
    shop.stored("a")
    assert refused(seller, "a") == PAYS_AN_ORDER
    shop.pay_directly("a")
    shop.watcher.poll()
    assert (shop.status("a"), refused(seller, "a")) == ("Used, captured / provisional", PAYS_AN_ORDER)
    shop.chain.reorganize(1, dropped=True)
    shop.watcher.poll()
    assert (shop.status("a"), refused(seller, "a")) == ("Stored, unused / unknown", PAYS_AN_ORDER)


def test_listed_transfer_of_an_unsigned_order_is_granted(shop: Shop, seller: Seller) -> None:
    shop.unassigned("a")
    sent = shop.pay_directly("a")
    shop.watcher.poll()
    assert unmatched(shop) == [("direct", "a")]
    lease = seller.grant_order("a")
    assert (paid(shop), unmatched(shop)) == ([(None, lease.id)], [])
    seller.settle(lease, sent)
    with pytest.raises(DuplicateRecord, match="belongs to an x402 payment"):
        shop.accept("a")
    shop.settle()
    assert (shop.status("a"), shop.balance().granted, shop.balance().faults) == ("Drafted / idle", 500, ())


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "later"])
def test_ended_order_leaves_its_nonce_to_a_grant(shop: Shop, seller: Seller, listed: bool) -> None:
    shop.stored("a")
    shop.orders.void("a")
    shop.pay_directly("a")
    if listed:
        shop.watcher.poll()
        assert unmatched(shop) == [("late", "a")]
    lease = seller.grant_order("a")
    shop.watcher.poll()
    assert (sales(shop), paid(shop), unmatched(shop)) == ([(None, lease.id)], [(None, lease.id)], [])
    assert shop.orders.timeline("a")[-1].details["reason"] == "granted"
    assert shop.balance().faults == ()


def test_expired_order_leaves_its_nonce_to_a_grant(shop: Shop, seller: Seller) -> None:
    shop.stored("a", seconds=300)
    assert refused(seller, "a") == PAYS_AN_ORDER
    shop.chain.advance(400)
    shop.chain.mine(shop.chain.finality + 1)
    shop.progress.expire("a")
    lease = seller.grant_order("a")
    shop.pay_directly("a")
    shop.watcher.poll()
    assert (shop.status("a"), paid(shop)) == ("Expired / idle", [(None, lease.id)])


def test_transfer_of_a_grant_is_neither_refunded_nor_listed(shop: Shop, seller: Seller) -> None:
    shop.unassigned("a")
    lease = seller.grant_order("a")
    shop.pay_directly("a")
    shop.settle()
    with pytest.raises(NotRefundable, match=f"pays an x402 response: grant {lease.id}"):
        refund(shop)
    assert (paid(shop), shop.balance().reserved) == ([(None, lease.id)], 0)


@pytest.mark.parametrize("end", [refund, resolve], ids=["refunded", "resolved"])
def test_ended_transfer_pays_no_grant(shop: Shop, seller: Seller, end: Callable[[Shop], None]) -> None:
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.settle()
    end(shop)
    assert refused(seller, "a") == ALREADY_USED
    assert (paid(shop), unmatched(shop)) == ([(None, None)], [("direct", "a")])


def test_transfer_with_other_terms_pays_no_grant(shop: Shop, seller: Seller) -> None:
    for id in ("a", "b"):
        shop.unassigned(id)
    lease = seller.grant_order("a")
    for id in ("a", "b"):
        shop.pay_directly(id, amount=499)
    shop.watcher.poll()
    assert (paid(shop), sorted(unmatched(shop))) == (
        [(None, None)] * 2,
        [("underpaid", "a"), ("underpaid", "b")],
    )
    assert refused(seller, "b") == ALREADY_USED
    assert sales(shop) == [(None, lease.id)]


def test_released_grant_frees_the_authorization(shop: Shop, seller: Seller) -> None:
    shop.unassigned("a")
    lease = seller.grant_order("a")
    with pytest.raises(DuplicateRecord):
        shop.accept("a")
    seller.release(lease)
    assert sales(shop) == []
    shop.accept("a")
    assert sales(shop) == [("a", None)]
    shop.captures.capture("a")
    shop.settle()
    assert (shop.status("a"), paid(shop)) == ("Used, captured / final", [("a", None)])


def test_declined_grant_leaves_a_listed_transfer(shop: Shop, seller: Seller) -> None:
    """The handler returned an error, and the payer sent the transfer all the same."""
    nonce = b"\7" * 32
    lease = seller.grant(nonce)
    shop.pay_by_nonce(nonce)
    shop.settle()
    assert paid(shop) == [(None, lease.id)]
    seller.grants.decline(lease, GrantedResponse(500, (), b"out of paper"))
    assert (sales(shop), paid(shop), unmatched(shop)) == ([], [(None, None)], [("shared_payee", None)])
    refund(shop)
    assert shop.balance().faults == ()


def test_granted_transfer_is_matched_again_after_a_reorganization(shop: Shop, seller: Seller) -> None:
    shop.unassigned("a")
    lease = seller.grant_order("a")
    shop.pay_directly("a")
    shop.watcher.poll()
    shop.chain.reorganize(1, dropped=True)
    shop.watcher.poll()
    assert (paid(shop), unmatched(shop), sales(shop)) == ([], [], [(None, lease.id)])
    with pytest.raises(DuplicateRecord):
        shop.accept("a")
    shop.pay_directly("a")
    shop.watcher.poll()
    assert (paid(shop), unmatched(shop), shop.balance().faults) == ([(None, lease.id)], [], ())


def test_unknown_authorization_has_its_own_reason(shop: Shop) -> None:
    shop.pay_by_nonce(b"\7" * 32)
    shop.pay(500)
    shop.watcher.poll()
    assert sorted(unmatched(shop)) == [("shared_payee", None), ("unmatched", None)]


@pytest.mark.parametrize("first", ["watcher", "seller"])
def test_settlement_by_permit2_is_matched_by_its_transaction(shop: Shop, seller: Seller, first: str) -> None:
    lease = seller.grant(b"\1" * 32, None, PERMIT2, scheme="upto")
    sent = shop.pay(300)
    if first == "watcher":
        shop.watcher.poll()
        assert unmatched(shop) == [("shared_payee", None)]
    seller.settle(lease, sent, 300)
    shop.watcher.poll()
    assert (paid(shop), unmatched(shop), shop.balance().granted) == ([(None, lease.id)], [], 300)
    # A later transfer of the same payer is none of the grant's.
    shop.pay(300)
    shop.watcher.poll()
    assert (paid(shop), unmatched(shop)) == ([(None, lease.id), (None, None)], [("unmatched", None)])


@pytest.mark.fake_chain
def test_payout_of_channels_is_listed_as_such_and_not_refunded(shop: Shop) -> None:
    shop.chain.change(lambda state: state.balances.update({BATCH_SETTLEMENT.lower(): 2100}))
    call = call_data("transfer(address,uint256)", SHOP.address, 2100)
    shop.chain.inject(BATCH_SETTLEMENT.lower(), TOKEN, call)
    shop.chain.mine()
    shop.settle()
    assert unmatched(shop) == [("channel_payout", None)]
    with pytest.raises(NotRefundable, match="has no account of a payer"):
        refund(shop)


def test_voucher_is_entered_again_with_its_grant(shop: Shop, seller: Seller) -> None:
    request = seller.request(b"\2" * 32, None, BATCH_SETTLEMENT, deadline=None)
    lease = seller.grants.grant(request)
    assert lease is not None
    seller.release(lease)
    assert sales(shop) == []
    assert seller.grants.grant(request) is not None
    assert sales(shop) == [(None, lease.id)]


def test_database_accepts_one_sale_of_an_authorization(shop: Shop, seller: Seller) -> None:
    lease = seller.grant(b"\3" * 32)
    shop.stored("a")
    for change in (
        "UPDATE authorizations SET order_id = 'a'",
        "UPDATE authorizations SET grant_id = NULL, order_id = NULL",
    ):
        with pytest.raises(IntegrityError), shop.database.transaction() as tx:
            tx.exec_driver_sql(change)
    shop.pay_by_nonce(b"\3" * 32)
    shop.watcher.poll()
    with pytest.raises(IntegrityError), shop.database.transaction() as tx:
        tx.exec_driver_sql("UPDATE transfers SET order_id = 'a'")
    assert paid(shop) == [(None, lease.id)]


@pytest.mark.fake_chain
def test_one_of_grant_and_signature_wins(make: Make) -> None:
    shop = make()
    seller, won = Seller(shop), []
    for number in range(8):
        id = shop.unassigned(f"o{number}")
        signature = shop.signature_of(id)
        start = threading.Barrier(2)

        def grant(id: str = id, start: threading.Barrier = start) -> str:
            start.wait(30)
            try:
                return seller.grant_order(id).id
            except AuthorizationTaken:
                return ""

        def accept(id: str = id, signature: bytes = signature, start: threading.Barrier = start) -> str:
            start.wait(30)
            try:
                shop.orders.accept(id, signature, BUYER.address)
            except DuplicateRecord:
                return ""
            return id

        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(grant), pool.submit(accept)]
            winners = [each.result() for each in calls]
        assert winners.count("") == 1, winners
        won.append(next(each for each in winners if each))
        granted = shop.orders.get(id).state is OrderState.DRAFTED
        assert granted == (won[-1] != id)
    assert sorted(each or "" for pair in sales(shop) for each in pair if each) == sorted(won)


@pytest.mark.fake_chain
def test_transfer_seen_during_the_grant_pays_it(shop: Shop, seller: Seller) -> None:
    """The watcher waits for the grant's transaction, which it does not see yet."""
    shop.unassigned("a")
    shop.pay_directly("a")
    watching = threading.Thread(target=shop.watcher.poll)
    request = seller.request(shop.orders.get("a").nonce)
    blocked = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

    def is_waiting_or_done() -> bool:
        with shop.database.reading() as tx:
            return not watching.is_alive() or bool(tx.exec_driver_sql(blocked).all())

    with shop.database.transaction() as tx:
        enter_authorization(shop.ledger, tx, request.authorization())
        watching.start()
        if tx.dialect.name == "postgresql":  # with SQLite, the watcher's transaction cannot begin
            wait_for(is_waiting_or_done, 30, "watcher")
    watching.join(30)
    assert (paid(shop), unmatched(shop)) == ([(None, request.payment.key.name)], [])


@pytest.mark.fake_chain
def test_crash_before_the_commit_of_a_grant_leaves_the_authorization(
    shop: Shop, seller: Seller, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.unassigned("a")
    enter = grants_module.enter_authorization

    def die(*given: Any) -> None:
        enter(*given)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(grants_module, "enter_authorization", die)
        with pytest.raises(Killed):
            seller.grant_order("a")
    shop.restart()
    assert sales(shop) == []
    shop.accept("a")
    assert sales(shop) == [("a", None)]


@pytest.mark.fake_chain
def test_crash_before_the_commit_of_a_release_keeps_the_authorization(
    shop: Shop, seller: Seller, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = seller.grant(b"\4" * 32)

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(grants_module, "delete_authorization", die)
        with pytest.raises(Killed):
            seller.release(lease)
    shop.restart()
    row = Grants(shop.ledger).find(lease.id)
    assert row is not None
    assert (row.state, sales(shop)) == (GrantState.HELD, [(None, lease.id)])
