"""Destinations of the ledger's rows: the key that a row was made for is the only one that acts for it.

```text
order    its token and payee
batch    the account that signed its transaction
refund   token and recipient of the transfer that it returns
payout   its token, and the payee recorded with its reservation
```

If the payee is a batch capture contract that is no longer configured, the account that signed the capture decides.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, select

from foreseal.payments.destinations.destination import Destination
from foreseal.payments.destinations.errors import DestinationNotConfigured
from foreseal.payments.destinations.registry import Destinations
from foreseal.payments.disbursements.payouts import read_payees
from foreseal.payments.ledger.models import (
    OrderRecord,
    PayoutRecord,
    Purpose,
    RefundRecord,
    TransactionRecord,
    TransferRecord,
)
from foreseal.payments.ledger.queries import chunks

DestinationsById = dict[str, Destination]
"""Destinations by the id of a row. A row whose destination is not configured is absent."""


class DestinationLookup:
    """Lookup in one snapshot of the database."""

    def __init__(self, destinations: Destinations, tx: Connection) -> None:
        self._destinations = destinations
        self._tx = tx

    def order(self, row: OrderRecord) -> Destination:
        """Return the destination of an order. Raises `DestinationNotConfigured`."""
        destination = self._destinations.find(row.token, row.payee) or self.orders([row.id]).get(row.id)
        if destination is None:
            raise DestinationNotConfigured(f"orders: {row.id}", row.token, row.payee)
        return destination

    def transfer(self, row: TransferRecord) -> Destination:
        """Return the destination at which a transfer arrived. Raises `DestinationNotConfigured`."""
        destination = self._destinations.find(row.token, row.recipient)
        if destination is None:
            raise DestinationNotConfigured(f"transfer {row.transaction_hash}", row.token, row.recipient)
        return destination

    def orders(self, ids: Sequence[str]) -> DestinationsById:
        """Return the destinations of orders."""
        destinations: DestinationsById = {}
        batches: dict[str, str] = {}
        for chunk in chunks(ids):
            query = select(OrderRecord.id, OrderRecord.token, OrderRecord.payee, OrderRecord.capture_batch)
            for id, token, payee, batch in self._tx.execute(query.where(OrderRecord.id.in_(chunk))):
                self._add(destinations, id, token, payee)
                if id not in destinations and batch is not None:
                    batches[id] = batch
        signed = self.batches(sorted(set(batches.values())))
        return destinations | {id: signed[batch] for id, batch in batches.items() if batch in signed}

    def orders_or_default(self, ids: Sequence[str]) -> DestinationsById:
        """Return the destinations of orders that expire: the evidence of the chain alone decides, without a key."""
        return dict.fromkeys(ids, self._destinations.default) | self.orders(ids)

    def batches(self, ids: Sequence[str]) -> DestinationsById:
        """Return the destinations of batches of captures."""
        destinations: DestinationsById = {}
        for chunk in chunks(ids):
            mine = (TransactionRecord.purpose == Purpose.CAPTURE_BATCH) & TransactionRecord.subject.in_(chunk)
            query = (
                select(TransactionRecord.subject, TransactionRecord.sender, func.min(OrderRecord.token))
                .join(OrderRecord, OrderRecord.capture_batch == TransactionRecord.subject)
                .where(mine)
                .group_by(TransactionRecord.subject, TransactionRecord.sender)
            )
            for id, sender, token in self._tx.execute(query):
                self._add(destinations, id, token, sender)
        return destinations

    def refunds(self, ids: Sequence[str]) -> DestinationsById:
        """Return the destinations of refunds."""
        destinations: DestinationsById = {}
        orders: dict[str, str] = {}
        same = and_(
            TransferRecord.chain_id == RefundRecord.chain_id,
            TransferRecord.transaction_hash == RefundRecord.transfer_hash,
            TransferRecord.position == RefundRecord.transfer_position,
        )
        for chunk in chunks(ids):
            query = select(RefundRecord.id, RefundRecord.order_id, RefundRecord.token, TransferRecord.recipient)
            joined = query.outerjoin(TransferRecord, same).where(RefundRecord.id.in_(chunk))
            for id, order, token, recipient in self._tx.execute(joined):
                if order is not None:
                    orders[id] = order
                elif recipient is not None:
                    self._add(destinations, id, token, recipient)
        paid = self.orders(sorted(set(orders.values())))
        return destinations | {id: paid[order] for id, order in orders.items() if order in paid}

    def payouts(self, ids: Sequence[str]) -> DestinationsById:
        """Return the destinations of payouts."""
        destinations: DestinationsById = {}
        payees = read_payees(self._tx, ids)
        for chunk in chunks(ids):
            tokens = select(PayoutRecord.id, PayoutRecord.token).where(PayoutRecord.id.in_(chunk))
            for id, token in self._tx.execute(tokens):
                self._add(destinations, id, token, payees[id])
        return destinations

    def _add(self, destinations: DestinationsById, id: str, token: str, payee: str) -> None:
        destination = self._destinations.find(token, payee)
        if destination is not None:
            destinations[id] = destination
