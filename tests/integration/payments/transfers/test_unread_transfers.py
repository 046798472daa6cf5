"""Transfers of strangers that the node does not return whole: the watcher goes on, and reads them later."""

import pytest
from sqlalchemy import select

from foreseal.payments.chain import RejectedByNode
from foreseal.payments.ledger.models import SetAsideRecord
from foreseal.payments.orders.terms import memo
from payments.fake.contracts import TOKEN, call_data
from payments.people import BUYERS, SHOP
from payments.scan import received
from payments.shop import Shop


def fresh(shop: Shop) -> set[tuple[object, ...]]:
    return {each.row() for each in received(shop.chain)}


def set_aside(shop: Shop) -> list[SetAsideRecord]:
    with shop.database.reading() as tx:
        rows = tx.execute(select(SetAsideRecord).order_by(SetAsideRecord.block_number)).all()
    return [SetAsideRecord(**row._mapping) for row in rows]


def pay_together(shop: Shop, *amounts: int) -> None:
    """Pay several amounts in one block, each by another buyer."""
    for amount, buyer in zip(amounts, BUYERS, strict=False):
        data = call_data("transfer(address,uint256)", SHOP.address, amount)
        shop.chain.inject(buyer.address.lower(), TOKEN, data)
    shop.chain.mine()


def test_unread_receipt_does_not_stop_the_watcher(shop: Shop) -> None:
    shop.watcher.poll()
    shop.node.max_logs = 1
    shop.pay(5)
    hidden = shop.pay(7, memo("a"))
    shop.pay(6)
    shop.watcher.poll()
    (row,) = set_aside(shop)
    assert (row.transaction_hash, row.attempts, shop.watcher.set_aside) == (hidden, 1, 1)
    assert "too large" in row.reason
    assert shop.rows() == {row for row in fresh(shop) if row[0] != hidden}
    shop.restart()
    shop.pay(8)
    shop.watcher.poll()
    assert shop.rows() == {row for row in fresh(shop) if row[0] != hidden}
    shop.node.max_logs = None
    shop.chain.mine(40)
    shop.watcher.poll()
    assert shop.rows() == fresh(shop)
    assert (set_aside(shop), shop.watcher.set_aside) == ([], 0)


def test_pauses_between_attempts_grow(shop: Shop) -> None:
    shop.watcher.poll()
    shop.node.max_logs = 1
    shop.pay(7, memo("a"))
    pauses = []
    for _ in range(4):
        shop.watcher.poll()
        (row,) = set_aside(shop)
        pauses.append(row.due - shop.chain.time)
        while shop.chain.time < row.due:
            shop.chain.mine()
    assert row.attempts == 4
    assert pauses[0] == 5
    assert pauses == sorted(pauses)
    assert pauses[-1] == 40


@pytest.mark.fake_chain
def test_block_that_a_node_without_pages_rejects_is_set_aside(shop: Shop) -> None:
    shop.watcher.poll()
    shop.node.max_logs = 1
    pay_together(shop, 5, 6)
    shop.pay(7)
    shop.watcher.poll()
    (row,) = set_aside(shop)
    assert (row.block_number, row.transaction_hash) == (1, "")
    assert len(shop.rows()) == 1
    shop.node.max_logs = None
    shop.chain.mine(60)
    shop.watcher.poll()
    assert shop.rows() == fresh(shop)
    assert len(shop.rows()) == 3
    assert set_aside(shop) == []


@pytest.mark.real_contracts
def test_block_that_the_node_rejects_is_read_in_pages(shop: Shop) -> None:
    shop.watcher.poll()
    shop.node.max_logs = 1
    pay_together(shop, 5, 6, 0)
    shop.pay(7)
    shop.watcher.poll()
    assert "foreseal_getLogs" in shop.node.calls
    assert shop.rows() == {row for row in fresh(shop) if row[-1] > 0}
    assert len(shop.rows()) == 3
    assert (set_aside(shop), shop.watcher.ignored) == ([], 1)


def test_paid_order_stays_paid_while_its_receipt_is_unread(shop: Shop) -> None:
    shop.watcher.poll()
    shop.captures.capture(shop.stored("a"))
    shop.chain.step()
    shop.progress.advance("a")
    assert shop.status("a").startswith("Used, captured")
    # Another transaction changes the hash of the block, so the receipt is needed again.
    pay_together(shop, 2)
    shop.node.max_logs = 1
    shop.watcher.poll()
    assert len(set_aside(shop)) == 1
    shop.pay(3)
    shop.watcher.poll()
    assert shop.status("a").startswith("Used, captured")
    shop.node.max_logs = None
    shop.chain.mine(40)
    shop.watcher.poll()
    assert {row[:4] for row in shop.rows()} == {row[:4] for row in fresh(shop)}
    assert shop.balance().faults == ()


def test_transfers_of_nothing_are_counted_once(shop: Shop) -> None:
    shop.watcher.poll()
    for _ in range(3):
        shop.pay(0)
        shop.watcher.poll()
    shop.pay(4)
    shop.node.calls.clear()
    shop.watcher.poll()
    assert shop.watcher.ignored == 3
    assert shop.node.calls.count("eth_getTransactionReceipt") == 1
    assert [row[-1] for row in shop.rows()] == [4]


@pytest.mark.fake_chain
def test_node_that_rejects_every_read_sets_nothing_aside(shop: Shop) -> None:
    shop.watcher.poll()
    pay_together(shop, 5, 6)
    shop.chain.mine(40)
    shop.node.max_logs = -1
    with pytest.raises(RejectedByNode, match="too large"):
        shop.watcher.poll()
    assert set_aside(shop) == []
