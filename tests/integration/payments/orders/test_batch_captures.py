"""Captures through the batch capture contract: one transaction for a group, and a separate outcome for each order."""

import dataclasses
from collections.abc import Callable

import pytest
from sqlalchemy import select

from foreseal.payments.chain import Incomplete
from foreseal.payments.ledger import TransitionNotAllowed
from foreseal.payments.ledger.models import (
    AttemptRecord,
    Purpose,
    Reason,
)
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.orders.terms import authorization
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.typed_data import TransferAuthorization
from payments.batching import check_books, fund, group, held, transactions, unmatched
from payments.fake.contracts import TOKEN, call_data, selector
from payments.people import BATCH_CAPTURE
from payments.scan import captured_by_contract, paid
from payments.shop import BUYER, BUYERS, FUNDS, SHOP, Make, Shop

LOW = BUYER.address.lower()


@pytest.fixture
def batching(make: Make) -> Shop:
    """Return a merchant with a batch capture contract."""
    return make(batch_capture=BATCH_CAPTURE, finality=10)


def test_one_transaction_captures_a_group(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    (sent,) = transactions(shop)
    assert (sent.purpose, sent.target, sent.account_nonce) == (Purpose.CAPTURE_BATCH, BATCH_CAPTURE, 0)
    assert {shop.status(id) for id in ids} == {"Stored, unused / broadcast"}
    assert {shop.orders.get(id).payee for id in ids} == {BATCH_CAPTURE}
    assert {shop.orders.get(id).capture_batch for id in ids} == {sent.subject}
    shop.chain.step()
    shop.go_on()
    assert {shop.status(id) for id in ids} == {"Used, captured / provisional"}
    assert (held(shop, SHOP.address), held(shop, BATCH_CAPTURE)) == (303, 0)
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    assert [each.trigger for each in shop.orders.timeline("p0")][1:3] == [
        "merchant submits receiveWithAuthorization",
        "node took the transaction",
    ]
    assert shop.orders.timeline("p0")[1].details == {"batch": sent.subject}
    assert transactions(shop)[0].ending == "included"
    assert shop.rows() == {each.row() for each in captured_by_contract(shop.chain)}
    assert (unmatched(shop), shop.progress.batches.waiting(), shop.progress.waiting()) == ([], [], [])
    check_books(shop)


@pytest.mark.parametrize("by_watcher", [False, True], ids=["receipt", "watcher"])
def test_receipt_and_watcher_each_suffice(batching: Shop, by_watcher: bool) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    work: Callable[[], object] = shop.watcher.poll if by_watcher else shop.progress.resume
    for step in ("provisional", "final"):
        shop.chain.mine(1 if step == "provisional" else shop.chain.finality + 1)
        work()
        assert {shop.status(id) for id in ids} == {f"Used, captured / {step}"}
        assert shop.progress.batches.waiting(watched=True) == []
    assert transactions(shop)[0].ending == "included"
    check_books(shop)


def test_single_capture_is_a_batch_of_one(batching: Shop) -> None:
    shop = batching
    shop.captured("a", 500)
    assert [each.purpose for each in transactions(shop)] == [Purpose.CAPTURE_BATCH]
    assert shop.status("a") == "Used, captured / final"
    shop.refunds.refund("r", "a", 200)
    shop.settle()
    assert [(each.recipient, each.amount) for each in paid(shop.chain)] == [(LOW, 200)]
    assert (shop.balance().captured, shop.balance().refunded) == (500, 200)
    check_books(shop)


def test_order_from_before_the_contract_is_captured_alone(make: Make) -> None:
    shop = make()
    shop.stored("old")
    shop.settings["batch_capture"] = BATCH_CAPTURE
    shop.restart()
    shop.stored("new")
    shop.captures.capture("old")
    shop.captures.capture("new")
    shop.settle()
    assert [each.purpose for each in transactions(shop)] == [Purpose.CAPTURE, Purpose.CAPTURE_BATCH]
    assert {shop.status(id) for id in ("old", "new")} == {"Used, captured / final"}
    assert (shop.balance().captured, shop.balance().faults, unmatched(shop)) == (1_000, (), [])


def test_a_failed_item_is_captured_again_in_another_batch(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    fund(shop, BUYER, 1)
    shop.chain.mine()
    shop.go_on()
    assert [shop.status(id) for id in ids] == ["Stored, unused / broadcast"] + ["Used, captured / provisional"] * 2
    with pytest.raises(TransitionNotAllowed):
        shop.orders.void("p0")
    shop.settle()
    assert [shop.status(id) for id in ids] == ["Stored, unused / failed"] + ["Used, captured / final"] * 2
    order, failure = shop.orders.get("p0"), shop.orders.timeline("p0")[-1].details
    assert (failure["reason"], failure["message"]) == ("capture_failed", "ERC20: transfer amount exceeds balance")
    assert order.last_error == "ERC20: transfer amount exceeds balance"
    fund(shop, BUYER, FUNDS)
    shop.captures.capture("p0")
    shop.settle()
    assert shop.status("p0") == "Used, captured / final"
    first, second = transactions(shop)
    assert (first.ending, second.ending, first.subject != second.subject) == ("included", "included", True)
    check_books(shop)


def test_watcher_leaves_a_batch_open_that_has_a_failed_item(batching: Shop) -> None:
    shop = batching
    group(shop, *BUYERS)
    fund(shop, BUYER, 1)
    for _ in range(2):
        shop.chain.mine(shop.chain.finality + 1)
        shop.watcher.poll()
    (sent,) = transactions(shop)
    assert (sent.ending, shop.progress.batches.waiting(watched=True)) == (None, [sent.subject])
    shop.progress.advance("p0")
    assert (transactions(shop)[0].ending, shop.status("p0")) == ("included", "Stored, unused / failed")


def test_a_paused_token_fails_all_items_with_its_reason(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    shop.chain.change(lambda state: setattr(state, "paused", True))
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Stored, unused / failed"}
    assert {shop.orders.get(id).last_error for id in ids} == {"Pausable: paused"}
    shop.chain.change(lambda state: setattr(state, "paused", False))
    for id in ids:
        shop.captures.capture(id)
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    check_books(shop)


def test_item_canceled_by_its_payer_is_canceled(batching: Shop) -> None:
    shop = batching
    group(shop, *BUYERS)
    shop.chain.drop()
    shop.payer_cancels("p0")
    shop.chain.mine()
    shop.settle()
    assert shop.status("p0") == "Canceled / final"
    assert {shop.status(id) for id in ("p1", "p2")} == {"Used, captured / final"}
    check_books(shop)


def test_reorganization_reopens_the_whole_batch(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    shop.chain.mine()
    shop.go_on()
    shop.chain.reorganize(1, dropped=True)
    shop.watcher.poll()
    assert {shop.status(id) for id in ids} == {"Stored, unused / unknown"}
    assert shop.rows() == set()
    with pytest.raises(TransitionNotAllowed):
        shop.orders.void("p1")
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    assert len(transactions(shop)) == 1
    check_books(shop)


def test_reorganization_found_by_the_receipt_reopens_the_batch(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    shop.chain.mine()
    shop.progress.resume()
    shop.chain.reorganize(1, dropped=True)
    assert shop.progress.resume() == {}
    assert {shop.status(id) for id in ids} <= {"Stored, unused / unknown", "Stored, unused / broadcast"}
    assert shop.rows() == set()
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    check_books(shop)


def test_replacement_has_the_same_nonce_and_calls(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    for _ in range(12):
        shop.chain.drop()
        shop.chain.mine()
    shop.go_on()
    with shop.database.reading() as tx:
        attempts = fetch_all(tx, select(AttemptRecord).order_by(AttemptRecord.ordinal))
    assert len(attempts) == 2
    assert attempts[1].fee >= attempts[0].fee * 110 // 100
    assert len(transactions(shop)) == 1
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    check_books(shop)


def test_batch_whose_account_nonce_is_used_fails(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    shop.chain.drop()
    shop.chain.inject(SHOP.address.lower(), TOKEN, call_data("approve(address,uint256)", SHOP.address, 1))
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Stored, unused / failed"}
    assert transactions(shop)[0].ending == "replaced"
    assert shop.orders.timeline("p0")[-1].details == {"reason": "account_nonce_used"}
    for id in ids:
        shop.captures.capture(id)
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    check_books(shop)


def test_direct_transfer_and_sweep_are_unmatched(batching: Shop) -> None:
    shop = batching
    data = call_data("transfer(address,uint256)", BATCH_CAPTURE, 77)
    shop.chain.inject(LOW, TOKEN, data)
    shop.chain.mine()
    shop.watcher.poll()
    assert unmatched(shop) == [(Reason.UNMATCHED, 77)]
    group(shop, *BUYERS)
    shop.chain.mine()
    shop.go_on()
    shop.chain.inject(SHOP.address.lower(), BATCH_CAPTURE.lower(), selector("sweep()"))
    shop.settle()
    assert unmatched(shop) == [(Reason.UNMATCHED, 77), (Reason.SWEEP, 77)]
    balance = shop.balance()
    assert (balance.received, balance.captured, balance.unmatched, balance.faults) == (380, 303, 77, ())
    assert held(shop, SHOP.address) == 380


@pytest.mark.real_contracts
def test_authorization_that_the_payer_submits_pays_the_order(batching: Shop) -> None:
    """The payee has the money, and only the merchant can move it, so the order must not be payable again."""
    shop = batching
    shop.stored("a", 500)
    order = shop.orders.get("a")
    signed = TransferAuthorization(
        order.payer, order.payee, order.amount, order.valid_after, order.valid_before, order.nonce
    )
    kinds = "address,address,uint256,uint256,uint256,bytes32,bytes"
    values = (*signed.values().values(), shop.signed(signed))
    shop.chain.inject(LOW, TOKEN, call_data(f"transferWithAuthorization({kinds})", *values))
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    assert (held(shop, BATCH_CAPTURE), shop.balance().captured) == (500, 500)
    shop.chain.inject(SHOP.address.lower(), BATCH_CAPTURE.lower(), selector("sweep()"))
    shop.settle()
    assert (shop.balance().received, shop.balance().captured, shop.balance().faults) == (500, 500, ())
    assert (held(shop, SHOP.address), unmatched(shop)) == (500, [(Reason.SWEEP, 500)])


def test_contract_wallet_pays_through_the_contract(batching: Shop) -> None:
    shop = batching
    shop.chain.wallets[LOW] = BUYERS[1].address.lower()
    payment = shop.payment("a", 100)
    (rejected,) = shop.check([payment])
    assert isinstance(rejected, InvalidSignature)
    signed = dataclasses.replace(payment, signature=shop.signed(authorization(payment), BUYERS[1]))
    assert shop.store_group([signed, shop.payment("b", 50, BUYERS[2])]) == ["a", "b"]
    shop.settle()
    assert {shop.status(id) for id in ("a", "b")} == {"Used, captured / final"}
    check_books(shop)


def test_success_without_logs_fails_no_order(batching: Shop) -> None:
    shop = batching
    ids = group(shop, *BUYERS)
    shop.chain.mine(shop.chain.finality + 2)
    read = shop.node.answer

    def silent(method: str, *params: object) -> object:
        answer = read(method, *params)
        if method == "eth_getTransactionReceipt" and answer is not None:
            return dict(answer) | {"logs": []}
        return answer

    shop.node.answer = silent  # type: ignore[method-assign]
    batch = shop.orders.get("p0").capture_batch
    assert batch is not None
    with pytest.raises(Incomplete, match="has no logs of the batch capture"):
        shop.progress.batches.advance(batch)
    assert {shop.status(id) for id in ids} == {"Stored, unused / broadcast"}
    shop.node.answer = read  # type: ignore[method-assign]
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    check_books(shop)
