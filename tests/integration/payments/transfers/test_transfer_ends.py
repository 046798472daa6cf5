"""A transfer has one end, and an order one of its final states: the database decides between processes."""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from foreseal.payments.disbursements.refunds import RefundedTransfer
from foreseal.payments.ledger import ConcurrentUpdate, DuplicateRecord, Finality, LedgerError, OrderState, Trigger
from foreseal.payments.ledger.models import OrderRecord, TransferEnd, TransferEndRecord, TransferRecord
from foreseal.payments.ledger.queries import fetch_all, fetch_one
from foreseal.payments.transfers.grant_authorizations import GrantedAuthorization, enter_authorization
from foreseal.payments.transfers.transfer_ends import end_transfer
from payments.shop import ADDRESS, BUYER, SHOP, Killed, Make, Shop

Act = Callable[[Shop], object]


def key(shop: Shop) -> tuple[str, int]:
    """Return the key of the only transfer."""
    ((hash, position, *_),) = shop.rows()
    return hash, position


def ends(shop: Shop) -> list[TransferEnd]:
    with shop.database.reading() as tx:
        return [row.kind for row in fetch_all(tx, select(TransferEndRecord))]


def capture(shop: Shop) -> None:
    shop.accept("a")
    assert shop.orders.get("a").state is OrderState.CAPTURED


def grant(shop: Shop) -> None:
    chain_id, nonce = shop.chain.chain_id, shop.orders.get("a").nonce
    granted = GrantedAuthorization("g", chain_id, ADDRESS, BUYER.address, nonce, SHOP.address, 500)
    with shop.database.transaction() as tx:
        enter_authorization(shop.ledger, tx, granted)


def refund(shop: Shop) -> None:
    shop.refunds.reserve_transfer("r", RefundedTransfer(*key(shop)), None, lambda _: None)


def resolve(shop: Shop) -> None:
    with shop.database.transaction() as tx:
        if not end_transfer(tx, shop.chain.chain_id, key(shop), TransferEnd.RESOLVED):
            raise DuplicateRecord("already ended")


ENDS: dict[TransferEnd, Act] = {
    TransferEnd.CAPTURED: capture,
    TransferEnd.GRANTED: grant,
    TransferEnd.REFUNDED: refund,
    TransferEnd.RESOLVED: resolve,
}


@pytest.mark.parametrize("first", TransferEnd, ids=lambda each: each.value)
def test_ended_transfer_gets_no_second_end(shop: Shop, first: TransferEnd) -> None:
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.settle()
    ENDS[first](shop)
    for kind, act in ENDS.items():
        if kind is not first:
            with pytest.raises(LedgerError):
                act(shop)
    assert ends(shop) == [first]
    hash, position = key(shop)
    second = {
        TransferEndRecord.chain_id: shop.chain.chain_id,
        TransferEndRecord.transaction_hash: hash,
        TransferEndRecord.position: position,
        TransferEndRecord.kind: TransferEnd.RESOLVED,
    }
    with pytest.raises(IntegrityError), shop.database.transaction() as tx:
        tx.execute(insert(TransferEndRecord).values(second))
    assert shop.balance().faults == ()


@pytest.mark.fake_chain
def test_one_of_four_concurrent_ends_wins(shop: Shop) -> None:
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.settle()
    signature = shop.signature_of("a")
    accept: Act = lambda own_shop: own_shop.orders.accept("a", signature, BUYER.address)  # noqa: E731
    acts, start = [accept, grant, refund, resolve], Barrier(4)

    def run(act: Act) -> bool:
        start.wait(30)
        while True:
            try:
                act(shop)
            except ConcurrentUpdate:  # a deadlock; a caller repeats it
                continue
            except LedgerError:
                return False
            return True

    with ThreadPoolExecutor(len(acts)) as pool:
        won = list(pool.map(run, acts))
    assert won.count(True) == 1, won
    assert ends(shop) == [list(ENDS)[won.index(True)]]
    assert shop.balance().faults == ()


def test_captured_orders_end_their_transfers(shop: Shop) -> None:
    for id in ("a", "b"):
        shop.captured(id)
    assert ends(shop) == [TransferEnd.CAPTURED] * 2


@pytest.mark.parametrize("end", TransferEnd, ids=lambda each: each.value)
def test_only_refund_and_resolution_survive_a_reorganization(make: Make, end: TransferEnd) -> None:
    shop = make(refundable=Finality.PROVISIONAL)
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.watcher.poll()
    ENDS[end](shop)
    shop.chain.reorganize(1, dropped=True)
    shop.watcher.poll()
    assert (shop.rows(), ends(shop)) == (set(), [end] if end in (TransferEnd.REFUNDED, TransferEnd.RESOLVED) else [])


@pytest.mark.fake_chain
@pytest.mark.parametrize("end", TransferEnd, ids=lambda each: each.value)
def test_crash_before_the_commit_leaves_no_end(shop: Shop, end: TransferEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.unassigned("a")
    shop.pay_directly("a")
    shop.settle()
    transaction = shop.database.transaction

    @contextlib.contextmanager
    def dying(**options: bool) -> Iterator[Connection]:
        with transaction(**options) as tx:
            yield tx
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(shop.database, "transaction", dying)
        with pytest.raises(Killed):
            ENDS[end](shop)
    shop.restart()
    assert ends(shop) == []
    with shop.database.reading() as tx:
        row = fetch_one(tx, select(TransferRecord))
    assert (row.order_id, row.grant_id) == (None, None)
    ENDS[end](shop)
    assert ends(shop) == [end]


@pytest.mark.fake_chain
@pytest.mark.parametrize(
    ("before", "triggers"),
    [
        (OrderState.STORED, (Trigger.LANDED, Trigger.VOID, Trigger.EXPIRE)),
        (OrderState.VOIDED, (Trigger.LANDED, Trigger.EXPIRE)),
    ],
    ids=["stored", "voided"],
)
def test_order_ends_once(shop: Shop, before: OrderState, triggers: tuple[Trigger, ...]) -> None:
    """Captured, voided and expired exclude each other, and so do canceled and expired."""
    shop.stored("a")
    if before is OrderState.VOIDED:
        shop.orders.void("a")
    row, start = shop.orders.get("a"), Barrier(len(triggers))
    assert row.state is before

    def end(trigger: Trigger) -> bool:
        start.wait(30)
        try:
            with shop.database.transaction() as tx:
                shop.ledger.move(tx, OrderRecord, row, trigger)
        except ConcurrentUpdate:
            return False
        return True

    with ThreadPoolExecutor(len(triggers)) as pool:
        won = list(pool.map(end, triggers))
    assert won.count(True) == 1, won
    ended = [entry for entry in shop.orders.timeline("a") if entry.before == str(before)]
    assert [entry.trigger for entry in ended] == [triggers[won.index(True)]]
