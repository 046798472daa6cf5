"""Refunds: paid to the sender of the capture's transfer, and never more than the captured amount."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, select

from foreseal.payments.amounts import check_amount
from foreseal.payments.chain import ChainReceipt
from foreseal.payments.chain.token import TRANSFERRED, address_topic, transfer_call, transfers
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.disbursements.disbursements import Disbursements, paid_by
from foreseal.payments.ledger import (
    EFFECTED,
    DisbursementState,
    DuplicateRecord,
    InsufficientAmount,
    LedgerError,
    OrderState,
    Trigger,
    UnknownRecord,
    entries,
    locked,
)
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.ledger.models import OrderRecord, Purpose, RefundRecord, TransferEnd, TransferRecord
from foreseal.payments.ledger.queries import chunks, fetch_one, fetch_one_or_none
from foreseal.payments.transfers.authorization_logs import Topics
from foreseal.payments.transfers.transfer_ends import end_transfer, find_end
from foreseal.payments.typed_data import ZERO_ADDRESS

# Reason in the timeline of a refund that was requested without an amount.
_REMAINDER = "remainder"


class NotRefundable(LedgerError):
    """The order is not captured, its payment has not reached the required step, or the transfer pays a response."""


@dataclass(frozen=True, slots=True)
class RefundedTransfer:
    """An unmatched transfer."""

    transaction_hash: str
    position: int

    @classmethod
    def from_refund(cls, refund: RefundRecord) -> "RefundedTransfer | None":
        """Return the transfer that a refund refers to; None if it refers to an order."""
        if refund.transfer_hash is None or refund.transfer_position is None:
            return None
        return cls(refund.transfer_hash, refund.transfer_position)


def _unknown(source: RefundedTransfer) -> UnknownRecord:
    return UnknownRecord(f"unmatched transfers: no transfer {source.position} of {source.transaction_hash}")


def _ended(tx: Connection, source: RefundedTransfer, transfer: TransferRecord) -> LedgerError:
    """Return the reason against the refund of a transfer that has an end."""
    match find_end(tx, transfer):
        case TransferEnd.CAPTURED:
            return _unknown(source)
        case TransferEnd.GRANTED:
            pays = f"pays an x402 response: grant {transfer.grant_id}"
            return NotRefundable(f"transfer {source.transaction_hash} {pays}")
        case _:
            return DuplicateRecord(f"unmatched transfers: {source.transaction_hash} is already resolved")


def refund_receivers(tx: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return the accounts that received the money which refunds return, by id of the refund."""
    receivers: dict[str, str] = {}
    same = and_(
        TransferRecord.chain_id == RefundRecord.chain_id,
        TransferRecord.transaction_hash == RefundRecord.transfer_hash,
        TransferRecord.position == RefundRecord.transfer_position,
    )
    received = func.coalesce(OrderRecord.payee, TransferRecord.recipient)
    query = (
        select(RefundRecord.id, received)
        .outerjoin(OrderRecord, OrderRecord.id == RefundRecord.order_id)
        .outerjoin(TransferRecord, same)
    )
    for chunk in chunks(ids):
        receivers.update(tx.execute(query.where(RefundRecord.id.in_(chunk))).all())
    return receivers


class Refunds(Disbursements[RefundRecord]):
    """Refunds of a merchant."""

    model = RefundRecord
    purpose = Purpose.REFUND
    decided = CrashPoint.REFUND_DECIDED
    stored = CrashPoint.REFUND_STORED

    def refund(self, id: str, order: str, amount: int | None = None) -> RefundRecord:
        """Reserve and send a refund of `amount` smallest units, or of the remainder. Return the updated row.

        `id` is the caller's idempotency key: the same id, order and amount mean the same refund. Raises the same errors
        as `reserve` and `submit`.
        """
        if self.reserve(id, order, amount):
            self.ledger.passed(CrashPoint.REFUND_RESERVED)
        return self.advance(id)

    def reserve(self, id: str, order: str, amount: int | None = None) -> bool:
        """Reserve part of an order's captured amount. Return True if the refund is new.

        Without an amount, reserve the remainder: the capture without refunds and reservations. Raises
        `InsufficientAmount` if nothing remains or the order's refunds would exceed its capture, `NotRefundable`,
        `DuplicateRecord` if another refund has the id, and `UnknownRecord`. Raises ValueError and TypeError for an
        invalid amount.
        """
        identifier(id)
        if amount is not None and check_amount(amount) == 0:
            raise ValueError("amount: must not be 0")
        with self.ledger.database.transaction() as tx:
            # The lock on the order serializes its refunds, so their sum is exact.
            paid = locked(tx, OrderRecord, order)
            before = fetch_one_or_none(tx, select(RefundRecord).where(RefundRecord.id == id))
            if before is not None:
                if before.order_id != order or not self._same_amount(tx, before, amount):
                    raise DuplicateRecord(f"refunds: {id} is another refund")
                return False
            if paid.state is not OrderState.CAPTURED or EFFECTED.index(paid.step) < EFFECTED.index(
                self.merchant.refundable
            ):
                raise NotRefundable(f"orders: {order} is {paid.state}, {paid.step}")
            transfer = fetch_one(tx, select(TransferRecord).where(TransferRecord.order_id == order))
            left = transfer.amount - self._promised(tx, order)
            if left == 0 or (amount or 0) > left:
                raise InsufficientAmount(amount, left)
            self.ledger.create(
                tx,
                RefundRecord,
                Trigger.RESERVE,
                {
                    RefundRecord.id: id,
                    RefundRecord.order_id: order,
                    RefundRecord.chain_id: transfer.chain_id,
                    RefundRecord.token: transfer.token,
                    RefundRecord.recipient: transfer.sender,
                    RefundRecord.amount: left if amount is None else amount,
                },
                **({"reason": _REMAINDER} if amount is None else {}),
            )
        return True

    def reserve_transfer(
        self, id: str, source: RefundedTransfer, amount: int | None, resolve: Callable[[Connection], None]
    ) -> bool:
        """Reserve the refund of an unmatched transfer to its sender, by default of all of it. Return True if it is new.

        A transfer is refunded once. `resolve` records the resolution in the same transaction; its errors end it. Raises
        `UnknownRecord` unless the transfer is unmatched, `NotRefundable`, `InsufficientAmount` and `DuplicateRecord`.
        """
        identifier(id)
        same = (
            (TransferRecord.chain_id == self.merchant.domain.chain_id)
            & (TransferRecord.transaction_hash == source.transaction_hash)
            & (TransferRecord.position == source.position)
        )
        with self.ledger.database.transaction() as tx:
            transfer = fetch_one_or_none(tx, select(TransferRecord).where(same).with_for_update())
            before = fetch_one_or_none(tx, select(RefundRecord).where(RefundRecord.id == id))
            if before is not None:
                if RefundedTransfer.from_refund(before) != source or amount not in (None, before.amount):
                    raise DuplicateRecord(f"refunds: {id} is another refund")
                return False
            if transfer is None:
                raise _unknown(source)
            key = (source.transaction_hash, source.position)
            if not end_transfer(tx, transfer.chain_id, key, TransferEnd.REFUNDED):
                raise _ended(tx, source, transfer)
            if EFFECTED.index(transfer.step) < EFFECTED.index(self.merchant.refundable):
                raise NotRefundable(f"transfer {source.transaction_hash} is {transfer.step}")
            if transfer.sender in (ZERO_ADDRESS, BATCH_SETTLEMENT, self.merchant.payee):
                raise NotRefundable(f"transfer {source.transaction_hash} has no account of a payer as its sender")
            if (amount or 0) > transfer.amount:
                raise InsufficientAmount(amount, transfer.amount)
            resolve(tx)
            self.ledger.create(
                tx,
                RefundRecord,
                Trigger.RESERVE,
                {
                    RefundRecord.id: id,
                    RefundRecord.transfer_hash: source.transaction_hash,
                    RefundRecord.transfer_position: source.position,
                    RefundRecord.chain_id: transfer.chain_id,
                    RefundRecord.token: transfer.token,
                    RefundRecord.recipient: transfer.sender,
                    RefundRecord.amount: amount or transfer.amount,
                },
            )
        self.ledger.passed(CrashPoint.REFUND_RESERVED)
        return True

    def refundable(self, order: str) -> int:
        """Return the captured units of an order that are neither refunded nor reserved for a refund."""
        with self.ledger.database.reading() as tx:
            amount = tx.execute(
                select(TransferRecord.amount).where(TransferRecord.order_id == order)
            ).scalar_one_or_none()
            return (amount or 0) - self._promised(tx, order)

    def recipients(self, tx: Connection, row: RefundRecord) -> list[tuple[str, int]]:
        """Return the payer, from the capture's Transfer log."""
        return [(row.recipient, row.amount)]

    def call(self, row: RefundRecord, legs: list[tuple[str, int]]) -> tuple[str, bytes]:
        """Return a transfer call of the token."""
        return row.token, transfer_call(*legs[0])

    def trace(self, row: RefundRecord, legs: list[tuple[str, int]]) -> tuple[str, Topics]:
        """Return the filter for its Transfer."""
        return row.token, ((TRANSFERRED,), (address_topic(self.merchant.payee),), (address_topic(row.recipient),))

    def find_effect(self, row: RefundRecord, legs: list[tuple[str, int]], receipt: ChainReceipt) -> list[int] | None:
        """Return the log index of that Transfer."""
        moved = [transfer for transfer in transfers(receipt, row.token) if transfer.sender == self.merchant.payee]
        return paid_by(moved, legs)

    @staticmethod
    def _same_amount(tx: Connection, refund: RefundRecord, amount: int | None) -> bool:
        """Return True if an existing refund was requested with this amount, or for the remainder."""
        if amount is not None:
            return refund.amount == amount
        return entries(tx, RefundRecord.__tablename__, refund.id)[0].details.get("reason") == _REMAINDER

    @staticmethod
    def _promised(tx: Connection, order: str) -> int:
        """Return the sum of all refunds that are paid or may be paid.

        It is computed here: in SQL it would not be exact on every database.
        """
        counting = select(RefundRecord.amount).where(
            RefundRecord.order_id == order, RefundRecord.state != DisbursementState.BLOCKED
        )
        return sum(tx.execute(counting).scalars())
