"""The conservation check finds faults: each kind of damage to the tables is reported."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, delete, insert, update

from foreseal.payments.ledger import Finality
from foreseal.payments.ledger.models import OrderRecord, Reason, RefundRecord, TransferRecord, UnmatchedTransferRecord
from foreseal.payments.transfers.balance import BalanceFault
from payments.shop import Shop, ShopBalance

DAMAGE: dict[str, Callable[[Connection], object]] = {
    "is captured without a transfer": lambda tx: tx.execute(update(TransferRecord).values(order_id=None)),
    "both matched and unmatched, or neither": lambda tx: tx.execute(delete(UnmatchedTransferRecord)),
    "which is not captured": lambda tx: tx.execute(update(TransferRecord).values(order_id="open")),
    "differs from the terms of order a": lambda tx: tx.execute(update(OrderRecord).values(amount=501)),
    "order a is provisional, its transfer final": lambda tx: tx.execute(
        update(OrderRecord).values(step=Finality.PROVISIONAL)
    ),
    "refunds of order a are 501, its amount 500": lambda tx: tx.execute(update(RefundRecord).values(amount=501)),
}


def filled(shop: Shop) -> ShopBalance:
    shop.captured("a", 500)
    shop.stored("open")
    shop.refunds.reserve("r", "a", 100)
    return shop.balance()


@pytest.mark.parametrize("fault", DAMAGE)
def test_inconsistent_balance_is_reported_with_its_cause(shop: Shop, fault: str) -> None:
    assert filled(shop) == ShopBalance(500, 500, 0, 0, 100)
    if "unmatched" in fault:
        shop.pay(7)
        shop.go_on()
        assert shop.balance() == ShopBalance(507, 500, 7, 0, 100)
    with shop.database.transaction() as tx:
        DAMAGE[fault](tx)
    assert any(fault in each.message for each in shop.balance().faults)


def test_unmatched_transfer_of_an_order_is_a_fault(shop: Shop) -> None:
    filled(shop)
    ((hash, position, *_),) = shop.rows()
    key = {"chain_id": shop.chain.chain_id, "transaction_hash": hash, "position": position}
    with shop.database.transaction() as tx:
        tx.execute(insert(UnmatchedTransferRecord).values(**key, reason=Reason.DUPLICATE))
    assert shop.balance().faults == (
        BalanceFault("transfer_misfiled", f"transfer {hash} is both matched and unmatched, or neither"),
    )
