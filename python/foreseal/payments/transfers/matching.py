"""Effect of on-chain transfers on orders. The rows of `transfers` are authoritative, and orders follow them.

Receipts of own captures and the watcher both report transfers here. A transfer that matches an order captures it. An
unmatched transfer goes to `unmatched_transfers`. A transfer that left the chain reopens its order. Each change is part
of the caller's database transaction.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute

from foreseal.payments.chain import FinalityBroken, Transfer
from foreseal.payments.ledger import (
    ConcurrentUpdate,
    Finality,
    Ledger,
    OrderState,
    OrderStatus,
    StatusStep,
    TimelineEntry,
    Trigger,
    locked,
)
from foreseal.payments.ledger.models import (
    AuthorizationRecord,
    OrderRecord,
    Reason,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_one_or_none
from foreseal.payments.ledger.timeline import TRANSFER_UNMATCHED, record_entry

_LATE = (OrderState.VOIDED, OrderState.CANCELED, OrderState.EXPIRED)


@dataclass(frozen=True, slots=True)
class ObservedTransfer:
    """A transfer to the merchant on the chain."""

    chain_id: int
    transfer: Transfer
    step: StatusStep
    """PROVISIONAL, CONFIRMED or FINAL."""

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

    def differs(self, row: TransferRecord) -> bool:
        """Return True if a stored row has another value in any of these columns."""
        return any(getattr(row, column.key) != value for column, value in self.values().items())

    def replaces(self, row: TransferRecord) -> bool:
        """Return True if a stored row describes another transfer: a reorganization may reuse the key."""
        values = self.values()
        return any(getattr(row, column.key) != values[column] for column in _CONTENT)

    def is_row(self) -> ColumnElement[bool]:
        """Return the condition for its row."""
        return _is_transfer(self.chain_id, self.transfer.log.transaction_hash, self.transfer.position)


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


def record_transfer(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Record a transfer or its new position, and move its order accordingly. Raises `FinalityBroken`."""
    values, log = observed.values(), observed.transfer.log
    row = fetch_one_or_none(tx, select(TransferRecord).where(observed.is_row()).with_for_update())
    if row is not None and observed.replaces(row):
        remove_transfer(ledger, tx, row)
        row = None
    if row is None:
        try:
            tx.execute(insert(TransferRecord).values(values))
        except IntegrityError as error:
            raise ConcurrentUpdate(f"transfer {log.transaction_hash} was recorded by another process") from error
        _match(ledger, tx, observed)
    elif row.step is Finality.FINAL:
        if row.block_hash != log.block_hash:
            raise FinalityBroken(f"transfer {row.transaction_hash}: its final block {row.block_hash} is gone")
    else:
        tx.execute(update(TransferRecord).where(observed.is_row()).values(values))
        if row.order_id is not None:
            ledger.follow(tx, OrderRecord, locked(tx, OrderRecord, row.order_id), observed.step)


def remove_transfer(ledger: Ledger, tx: Connection, row: TransferRecord) -> None:
    """Delete a transfer that left the chain, and reopen its order. Raises `FinalityBroken`."""
    if row.step is Finality.FINAL:
        raise FinalityBroken(f"transfer {row.transaction_hash}: it was in the final block {row.block_hash}")
    if row.order_id is not None:
        order = locked(tx, OrderRecord, row.order_id)
        ledger.move(tx, OrderRecord, order, Trigger.REOPEN, transaction=row.transaction_hash, block=row.block_hash)
    key = (row.chain_id, row.transaction_hash, row.position)
    tx.execute(delete(UnmatchedTransferRecord).where(_is_unmatched(*key)))
    tx.execute(delete(TransferRecord).where(_is_transfer(*key)))


def _match(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Match a new transfer to its order, or add it to `unmatched_transfers`."""
    transfer, order = observed.transfer, None
    by_authorization = False
    if transfer.nonce is not None:
        order = _find_by_authorization(tx, observed)
        by_authorization = order is not None
    if order is None and transfer.memo is not None:
        order = _find_by_memo(tx, observed)
    if order is None:
        _suspend(tx, observed, Reason.UNMATCHED, None)
        return
    before = fetch_one_or_none(tx, select(TransferRecord).where(TransferRecord.order_id == order.id))
    if (
        by_authorization
        and before is not None
        and (before.nonce, before.checkout) == (transfer.nonce, transfer.checkout)
    ):
        # Each nonce allows one transfer, so the earlier one belongs to a chain that was reorganized away.
        remove_transfer(ledger, tx, before)
        order, before = locked(tx, OrderRecord, order.id), None
    reason = _reason(order, before, transfer, by_authorization=by_authorization)
    if reason is not None:
        _suspend(tx, observed, reason, order.id)
        status, log = str(OrderStatus(order.state, order.step)), transfer.log
        details = {"reason": reason, "transaction": log.transaction_hash, "amount": str(transfer.amount)}
        entry = TimelineEntry(
            OrderRecord.__tablename__, order.id, ledger.clock(), TRANSFER_UNMATCHED, status, status, details
        )
        record_entry(tx, entry)
        return
    tx.execute(update(TransferRecord).where(observed.is_row()).values({TransferRecord.order_id: order.id}))
    details = {"transaction": transfer.log.transaction_hash, "block": transfer.log.block_hash}
    if order.checkout is not None:
        # If the ledger was restored from an older database, the amount may differ from the one decided here.
        tx.execute(update(OrderRecord).where(OrderRecord.id == order.id).values({OrderRecord.actual: transfer.amount}))
    order = ledger.move(tx, OrderRecord, order, Trigger.LANDED, **details)
    ledger.follow(tx, OrderRecord, order, observed.step)


def _find_by_authorization(tx: Connection, observed: ObservedTransfer) -> OrderRecord | None:
    same = and_(
        AuthorizationRecord.chain_id == observed.chain_id,
        AuthorizationRecord.contract == (observed.transfer.checkout or observed.transfer.log.address),
        AuthorizationRecord.payer == observed.transfer.sender,
        AuthorizationRecord.nonce == observed.transfer.nonce,
    )
    found = tx.execute(select(AuthorizationRecord.order_id).where(same)).scalar_one_or_none()
    return None if found is None else locked(tx, OrderRecord, found)


def _find_by_memo(tx: Connection, observed: ObservedTransfer) -> OrderRecord | None:
    same = and_(
        OrderRecord.chain_id == observed.chain_id,
        OrderRecord.token == observed.transfer.log.address,
        OrderRecord.memo == observed.transfer.memo,
    )
    return fetch_one_or_none(tx, select(OrderRecord).where(same).with_for_update())


def _reason(
    order: OrderRecord, before: TransferRecord | None, transfer: Transfer, *, by_authorization: bool
) -> Reason | None:
    """Return the reason why a transfer does not pay the order that it refers to; None if it does."""
    if before is not None:
        return Reason.DUPLICATE
    if order.state in _LATE:
        return Reason.LATE
    captured = by_authorization and order.checkout is not None
    if transfer.amount != order.amount and not (captured and transfer.amount < order.amount):
        return Reason.UNDERPAID if transfer.amount < order.amount else Reason.OVERPAID
    if not by_authorization or order.state is not OrderState.STORED or transfer.recipient != order.payee:
        return Reason.DIRECT
    return None


def _suspend(tx: Connection, observed: ObservedTransfer, reason: Reason, order: str | None) -> None:
    values: ColumnValues = {
        UnmatchedTransferRecord.chain_id: observed.chain_id,
        UnmatchedTransferRecord.transaction_hash: observed.transfer.log.transaction_hash,
        UnmatchedTransferRecord.position: observed.transfer.position,
        UnmatchedTransferRecord.reason: reason,
        UnmatchedTransferRecord.order_id: order,
    }
    tx.execute(insert(UnmatchedTransferRecord).values(values))


def _is_transfer(chain_id: int, transaction_hash: str, position: int) -> ColumnElement[bool]:
    return and_(
        TransferRecord.chain_id == chain_id,
        TransferRecord.transaction_hash == transaction_hash,
        TransferRecord.position == position,
    )


def _is_unmatched(chain_id: int, transaction_hash: str, position: int) -> ColumnElement[bool]:
    return and_(
        UnmatchedTransferRecord.chain_id == chain_id,
        UnmatchedTransferRecord.transaction_hash == transaction_hash,
        UnmatchedTransferRecord.position == position,
    )
