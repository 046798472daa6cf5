"""Transfers that used an authorization before it was bound to its order.

The watcher reported each as unmatched, with the order that it refers to. When a signature makes the sender the payer of
the order, the transfer either pays it, or rules the signature out: no transfer can use the authorization again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, and_, select

from foreseal.payments.ledger import Ledger
from foreseal.payments.ledger.models import TransferRecord, UnmatchedTransferRecord
from foreseal.payments.ledger.queries import chunks, fetch_pairs
from foreseal.payments.transfers.matching import match_again
from foreseal.payments.transfers.referenced_orders import PayableTerms, pays_amount
from foreseal.payments.transfers.transfer_ends import find_end


class BindableOrder(PayableTerms, Protocol):
    """Terms of an order, and the payer whose authorization is to be bound."""

    @property
    def id(self) -> str: ...
    @property
    def payer(self) -> str: ...
    @property
    def payee(self) -> str: ...
    @property
    def nonce(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class EarlierTransfers:
    """Transfers that used the authorizations of orders, by the orders' ids."""

    paying: Mapping[str, TransferRecord]
    wrong: Mapping[str, str]
    """Hashes of transactions that do not pay the order, or whose transfer is refunded or resolved."""

    def match(self, ledger: Ledger, tx: Connection, ids: Collection[str]) -> None:
        """Capture those of the bound orders that are paid."""
        for id, row in self.paying.items():
            if id in ids:
                match_again(ledger, tx, row)


def find_earlier_transfers(tx: Connection, orders: Sequence[BindableOrder]) -> EarlierTransfers:
    """Return the transfers that used the authorizations of these orders, locked."""
    paying: dict[str, TransferRecord] = {}
    wrong: dict[str, str] = {}
    wanted = {order.id: order for order in orders}
    unmatched = and_(
        UnmatchedTransferRecord.chain_id == TransferRecord.chain_id,
        UnmatchedTransferRecord.transaction_hash == TransferRecord.transaction_hash,
        UnmatchedTransferRecord.position == TransferRecord.position,
    )
    query = select(TransferRecord, UnmatchedTransferRecord.order_id).join(UnmatchedTransferRecord, unmatched)
    for ids in chunks(list(wanted)):
        statement = query.where(UnmatchedTransferRecord.order_id.in_(ids)).with_for_update(of=TransferRecord)
        for row, id in list(fetch_pairs(tx, statement)):
            order = wanted[str(id)]
            nonce = None if row.nonce is None else bytes(row.nonce)
            if (row.sender, nonce, row.checkout) != (order.payer, order.nonce, order.checkout):
                continue
            if pays_amount(order, row) and row.recipient == order.payee and find_end(tx, row) is None:
                paying[order.id] = row
            else:
                wrong[order.id] = row.transaction_hash
    return EarlierTransfers(paying, wrong)
