"""Tests of captures through the batch capture contract: groups of payments, and checks of the books."""

from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from foreseal.payments.ledger import Database
from foreseal.payments.ledger.models import (
    LostGasRecord,
    Reason,
    TransactionRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, insert_all
from payments.people import BATCH_CAPTURE, BUYER
from payments.scan import captured_by_contract, received
from payments.shop import Shop


def held(shop: Shop, address: str) -> int:
    return int(shop.chain.pending.state.balances.get(address.lower(), 0))


def fund(shop: Shop, buyer: LocalAccount, amount: int) -> None:
    shop.chain.change(lambda state: state.balances.update({buyer.address.lower(): amount}))


def transactions(shop: Shop) -> list[TransactionRecord]:
    with shop.database.reading() as tx:
        return fetch_all(tx, select(TransactionRecord).order_by(TransactionRecord.id))


def unmatched(shop: Shop) -> list[tuple[Reason, int]]:
    """Return reasons and amounts of the unmatched transfers, in the order of the chain."""
    same = UnmatchedTransferRecord.transaction_hash == TransferRecord.transaction_hash
    query = select(UnmatchedTransferRecord.reason, TransferRecord.amount).join(
        TransferRecord, same & (UnmatchedTransferRecord.position == TransferRecord.position)
    )
    with shop.database.reading() as tx:
        rows = tx.execute(query.order_by(TransferRecord.block_number, TransferRecord.log_index)).all()
    return [(reason, amount) for reason, amount in rows]


def check_books(shop: Shop) -> None:
    """Check that the ledger has what the contract received, and that the contract forwarded the captures."""
    balance, amounts = shop.balance(), [each.amount for each in captured_by_contract(shop.chain)]
    assert balance.faults == ()
    assert balance.received == balance.captured + balance.unmatched == sum(amounts)
    assert balance.captured == sum(each.amount for each in received(shop.chain))
    assert held(shop, BATCH_CAPTURE) == 0


def group(shop: Shop, *buyers: LocalAccount) -> list[str]:
    """Store and send a payment of each buyer, in one group."""
    names = [f"p{number}" for number in range(len(buyers))]
    payments = [shop.payment(id, 100 + at, buyer) for at, (id, buyer) in enumerate(zip(names, buyers, strict=True))]
    assert shop.store_group(payments) == names
    return names


def lose_gas(database: Database, chain_id: int, time: int) -> None:
    """Record a reverted transaction of a payer with code that cost the whole budget."""
    values: ColumnValues = {
        LostGasRecord.chain_id: chain_id,
        LostGasRecord.transaction_hash: "0x01",
        LostGasRecord.payer: BUYER.address,
        LostGasRecord.gas: 12_000_000,
        LostGasRecord.has_code: True,
        LostGasRecord.time: time,
    }
    with database.transaction() as tx:
        insert_all(tx, LostGasRecord, [values])
