"""Signatures of two orders with one permit nonce, in two processes."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import update

from foreseal.payments.ledger import Database, DuplicateRecord, Ledger
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.orders.acceptances import Acceptances, CheckedSignature, SignedTerms
from payments.people import CHECKOUT
from payments.shop import BUYER, Shop


def _terms(shop: Shop, id: str) -> SignedTerms:
    """Return the terms of a permit with nonce 0."""
    order = shop.orders.get(id)
    payer = order.payer or BUYER.address
    common = (order.id, order.chain_id, order.token, payer, order.payee, order.amount)
    return SignedTerms(*common, order.valid_after, order.valid_before, bytes(order.nonce), CHECKOUT, 0, bytes(65))


@pytest.mark.fake_chain
def test_one_of_two_orders_gets_the_permit(shop: Shop) -> None:
    for id in ("a", "b"):
        shop.unassigned(id)
    with shop.database.transaction() as tx:
        tx.execute(update(OrderRecord).values({OrderRecord.checkout: CHECKOUT}))
    terms = [_terms(shop, id) for id in ("a", "b")]
    other = Database(shop.url)
    # A transaction that waits for the other one's end does not arrive; the timeout then lets the other one end.
    stored = threading.Barrier(2)

    def store(database: Database, signed: SignedTerms) -> dict[str, Exception]:
        acceptances = Acceptances(Ledger(database, shop.ledger.clock), shop.rpc, shop.merchant)
        with database.transaction() as tx:
            rejections = acceptances.store(tx, [CheckedSignature(replace(signed), fresh=True, auto_capture=False)])
            with contextlib.suppress(threading.BrokenBarrierError):
                stored.wait(1)
            return rejections

    try:
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(store, (shop.database, other), terms))
    finally:
        other.close()
    rejected = [error for rejections in results for error in rejections.values()]
    assert [type(error) for error in rejected] == [DuplicateRecord]
    assert sorted(shop.status(id) for id in ("a", "b")) == ["Drafted / idle", "Stored, unused / idle"]
