"""A transfer to the merchant as the chain shows it, and the row that it has in the ledger."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_
from sqlalchemy.orm import InstrumentedAttribute

from foreseal.payments.chain import Transfer
from foreseal.payments.ledger import StatusStep
from foreseal.payments.ledger.models import TransferRecord
from foreseal.payments.ledger.queries import ColumnValues

TransferKey = tuple[str, int]
"""Transaction hash, and position of the Transfer among the transaction's logs."""


@dataclass(frozen=True, slots=True)
class ObservedTransfer:
    """A transfer to the merchant on the chain."""

    chain_id: int
    transfer: Transfer
    step: StatusStep
    """PROVISIONAL, CONFIRMED or FINAL."""
    batch_capture: str | None = None
    """The merchant's batch capture contract."""

    def values(self) -> ColumnValues:
        """Return the columns of its row, except the order."""
        log = self.transfer.log
        return {
            TransferRecord.chain_id: self.chain_id,
            TransferRecord.transaction_hash: log.transaction_hash,
            TransferRecord.position: self.transfer.position,
            TransferRecord.block_hash: log.block_hash,
            TransferRecord.log_index: log.log_index,
            TransferRecord.block_number: log.block_number,
            TransferRecord.token: log.address,
            TransferRecord.sender: self.transfer.sender,
            TransferRecord.recipient: self.transfer.recipient,
            TransferRecord.amount: self.transfer.amount,
            TransferRecord.nonce: self.transfer.nonce,
            TransferRecord.memo: self.transfer.memo,
            TransferRecord.checkout: self.transfer.checkout,
            TransferRecord.step: self.step,
        }

    @property
    def key(self) -> TransferKey:
        """Transaction hash and position, which identify the transfer on its chain."""
        return self.transfer.log.transaction_hash, self.transfer.position

    def differs(self, row: TransferRecord) -> bool:
        """Return True if a stored row has another value in any of these columns."""
        return any(getattr(row, column.key) != value for column, value in self.values().items())

    def replaces(self, row: TransferRecord) -> bool:
        """Return True if a stored row describes another transfer: a reorganization may reuse the key."""
        values = self.values()
        return any(getattr(row, column.key) != values[column] for column in _CONTENT)

    def is_row(self) -> ColumnElement[bool]:
        """Return the condition for its row."""
        return is_transfer(self.chain_id, self.transfer.log.transaction_hash, self.transfer.position)


# Columns that identify the content: after a reorganization, the same key may have a different transfer.
_CONTENT: tuple[InstrumentedAttribute[Any], ...] = (
    TransferRecord.token,
    TransferRecord.sender,
    TransferRecord.recipient,
    TransferRecord.amount,
    TransferRecord.nonce,
    TransferRecord.memo,
    TransferRecord.checkout,
)


def transfer_key(chain_id: int, transaction_hash: str, position: int) -> ColumnValues:
    return {
        TransferRecord.chain_id: chain_id,
        TransferRecord.transaction_hash: transaction_hash,
        TransferRecord.position: position,
    }


def is_transfer(chain_id: int, transaction_hash: str, position: int) -> ColumnElement[bool]:
    return and_(
        TransferRecord.chain_id == chain_id,
        TransferRecord.transaction_hash == transaction_hash,
        TransferRecord.position == position,
    )
