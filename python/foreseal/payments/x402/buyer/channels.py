"""A buyer's state of its payment channels, persisted across restarts."""

import json

from sqlalchemy import ColumnElement, delete, select, update
from x402.mechanisms.evm.batch_settlement.client.storage import BatchSettlementClientContext

from foreseal.payments.ledger import Database, ensure
from foreseal.payments.ledger.queries import ColumnValues
from foreseal.payments.x402.buyer.models import BuyerChannelRecord


class BuyerChannels:
    """Implementation of the package's `ClientChannelStorage` in a database."""

    def __init__(self, database: Database, payer: str) -> None:
        self._database = database
        self._payer = payer

    def get(self, key: str) -> BatchSettlementClientContext | None:
        """Return the stored state of a channel by its id."""
        with self._database.reading() as tx:
            stored = tx.execute(select(BuyerChannelRecord.record).where(self._same(key))).scalar_one_or_none()
        return None if stored is None else BatchSettlementClientContext.from_dict(json.loads(stored))

    def set(self, key: str, context: BatchSettlementClientContext) -> None:
        """Store the state of a channel."""
        record = json.dumps(context.to_dict(), sort_keys=True)
        with self._database.transaction() as tx:
            statement = update(BuyerChannelRecord).where(self._same(key)).values({BuyerChannelRecord.record: record})
            updated = tx.execute(statement).rowcount
            values: ColumnValues = {
                BuyerChannelRecord.payer: self._payer,
                BuyerChannelRecord.channel: key.lower(),
                BuyerChannelRecord.record: record,
            }
            if not updated and not ensure(tx, BuyerChannelRecord, values):
                tx.execute(statement)  # another process inserted the channel in between

    def delete(self, key: str) -> None:
        """Delete a channel."""
        with self._database.transaction() as tx:
            tx.execute(delete(BuyerChannelRecord).where(self._same(key)))

    def _same(self, key: str) -> ColumnElement[bool]:
        return (BuyerChannelRecord.payer == self._payer) & (BuyerChannelRecord.channel == key.lower())
