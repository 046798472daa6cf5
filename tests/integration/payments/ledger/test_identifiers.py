"""Names, amounts and times at their limits, on both databases."""

import pytest

from foreseal.payments.amounts import MAX_AMOUNT
from foreseal.payments.ledger import DuplicateRecord, InsufficientAmount, UnknownRecord
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.orders.terms import memo
from payments.scan import paid
from payments.shop import BUYER, Shop

IMPOSSIBLE = ["", "x" * 201, "a\0b", "\0", "\ud800", "a\udfffb"]
# Pairs that a careless comparison treats as equal.
ALIKE = [
    "Order",
    "order",
    "é",
    "e\u0301",
    "a",
    "a ",
    " a",
    "ﬁ",
    "fi",
    "ß",
    "ss",
    "x" * 200,
    "\U0001f600" * 200,
    "%",
    "_",
]


@pytest.mark.parametrize("name", IMPOSSIBLE, ids=ascii)
def test_identifier_that_no_database_stores_is_rejected(shop: Shop, name: str) -> None:
    with pytest.raises(ValueError, match=r"^id: "):
        shop.draft(name)
    with pytest.raises(ValueError, match=r"^id: "):
        shop.refunds.reserve(name, "a", 1)
    for method in (shop.orders.get, shop.orders.store, shop.refunds.get, shop.payouts.get, shop.orders.void):
        with pytest.raises(UnknownRecord, match="no row has the id"):
            method(name)
    with pytest.raises(UnknownRecord):
        shop.refunds.reserve("r", name, 1)


@pytest.mark.parametrize("value", [None, 5, b"a"])
def test_identifier_that_is_not_a_string_is_rejected(value: object) -> None:
    with pytest.raises(TypeError, match=r"^id: "):
        identifier(value)


def test_similar_identifiers_are_distinct(shop: Shop) -> None:
    for name in ALIKE:
        shop.stored(name, 100)
    assert sorted(shop.in_state(*{shop.orders.get(name).state for name in ALIKE})) == sorted(ALIKE)
    with pytest.raises(DuplicateRecord):
        shop.draft("Order")
    shop.orders.void("Order")
    assert shop.status("order") == "Stored, unused / idle"
    assert len({memo(name) for name in ALIKE}) == len(ALIKE)
    for name in ALIKE[1:]:
        shop.captures.capture(name)
    shop.settle()
    for name in ALIKE[1:]:
        shop.refunds.refund(name, name, 100)
    shop.settle()
    assert [each.amount for each in paid(shop.chain)] == [100] * len(ALIKE[1:])
    assert shop.balance().faults == ()
    assert [entry.subject_id for entry in shop.orders.timeline("é")] == ["é"] * len(shop.orders.timeline("é"))


# A real token uses the highest bit of a balance for the blacklist.
@pytest.mark.fake_chain
def test_largest_amount_is_captured_and_refunded_exactly(shop: Shop) -> None:
    shop.chain.change(lambda state: state.balances.update({BUYER.address.lower(): MAX_AMOUNT}))
    shop.captured("a", MAX_AMOUNT)
    shop.refunds.refund("1", "a", MAX_AMOUNT - 1)
    with pytest.raises(InsufficientAmount, match="1 remain"):
        shop.refunds.reserve("2", "a", 2)
    shop.refunds.refund("3", "a", 1)
    shop.settle()
    shop.captured("b", MAX_AMOUNT)
    balance = shop.balance()
    assert (balance.received, balance.captured, balance.refunded) == (2 * MAX_AMOUNT, 2 * MAX_AMOUNT, MAX_AMOUNT)
    assert balance.faults == ()


# A real node's blocks are two seconds apart.
@pytest.mark.fake_chain
def test_order_expires_with_the_final_block_of_its_deadline(shop: Shop) -> None:
    shop.stored("at", seconds=100)
    shop.stored("after", seconds=101)
    until = shop.orders.get("at").valid_before
    while shop.chain.blocks[shop.chain.finalized].time < until:
        with pytest.raises(NotExpired, match="no final block has reached"):
            shop.progress.expire("at")
        shop.chain.mine()
    assert shop.chain.blocks[shop.chain.finalized].time == until
    # In a block of this time it could no longer be captured, but the other one could.
    shop.progress.expire("at")
    with pytest.raises(NotExpired, match="no final block has reached"):
        shop.progress.expire("after")
    assert [shop.status(id) for id in ("at", "after")] == ["Expired / idle", "Stored, unused / idle"]
