"""Refunds: back to whom the capture's transfer came from, and never more than it brought."""

from typing import Any

from sqlalchemy import Connection, Row, select

from foreseal.payments.amounts import checked
from foreseal.payments.chain import Receipt
from foreseal.payments.chain.token import TRANSFERRED, address_topic, transfer_call, transfers
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.disbursing import Disbursements, paid_by
from foreseal.payments.evidence import Topics
from foreseal.payments.ledger import (
    EFFECTED,
    DisbursementState,
    Duplicate,
    LedgerError,
    NotCovered,
    OrderState,
    Trigger,
    locked,
)
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.ledger.tables import Purpose, orders, refunds
from foreseal.payments.ledger.tables import transfers as rows


class NotRefundable(LedgerError):
    """The order is not captured, or its capture is not yet as safe as the merchant asks for."""


class Refunds(Disbursements):
    """The refunds of a merchant."""

    table = refunds
    purpose = Purpose.REFUND
    decided = CrashPoint.REFUND_DECIDED
    stored = CrashPoint.REFUND_STORED

    def refund(self, id: str, order: str, amount: int) -> Row[Any]:
        """Reserve and send a refund of `amount` smallest units; as it is then.

        `id` is the caller's idempotency key: asked again with the same order and amount it is the same refund. Raises
        as `reserve` and `submit` do.
        """
        if self.reserve(id, order, amount):
            self.ledger.passed(CrashPoint.REFUND_RESERVED)
        return self.advance(id)

    def reserve(self, id: str, order: str, amount: int) -> bool:
        """Set aside a part of what an order captured; whether it is new.

        Raises `NotCovered` if the refunds of the order would be more than its capture, `NotRefundable`, `Duplicate` if
        the id is that of another refund, `Unknown`, ValueError and TypeError for what is no amount.
        """
        identifier(id)
        if checked(amount) == 0:
            raise ValueError("amount: is 0")
        with self.ledger.database.transaction() as tx:
            # Locked first, so that two refunds of one order are added up one after the other.
            paid = locked(tx, orders, order)
            before = tx.execute(select(refunds).where(refunds.c.id == id)).one_or_none()
            if before is not None:
                if (before.order_id, before.amount) != (order, amount):
                    raise Duplicate(f"refunds: {id} is another refund")
                return False
            if paid.state is not OrderState.CAPTURED or EFFECTED.index(paid.step) < EFFECTED.index(
                self.merchant.refundable
            ):
                raise NotRefundable(f"orders: {order} is {paid.state}, {paid.step}")
            transfer = tx.execute(select(rows).where(rows.c.order_id == order)).one()
            left = transfer.amount - self._promised(tx, order)
            if amount > left:
                raise NotCovered(amount, left)
            self.ledger.create(
                tx,
                refunds,
                Trigger.RESERVE,
                id=id,
                order_id=order,
                chain_id=transfer.chain_id,
                token=transfer.token,
                recipient=transfer.sender,
                amount=amount,
            )
        return True

    def refundable(self, order: str) -> int:
        """Units of an order that are captured and not refunded, nor about to be."""
        with self.ledger.database.reading() as tx:
            amount = tx.execute(select(rows.c.amount).where(rows.c.order_id == order)).scalar_one_or_none()
            return (amount or 0) - self._promised(tx, order)

    def of_order(self, order: str) -> list[Row[Any]]:
        """All refunds of an order."""
        with self.ledger.database.reading() as tx:
            return list(tx.execute(select(refunds).where(refunds.c.order_id == order).order_by(refunds.c.id)))

    def recipients(self, tx: Connection, row: Row[Any]) -> list[tuple[str, int]]:
        """The payer, by the capture's Transfer log."""
        return [(row.recipient, row.amount)]

    def call(self, row: Row[Any], legs: list[tuple[str, int]]) -> tuple[str, bytes]:
        """A transfer of the token."""
        return row.token, transfer_call(*legs[0])

    def trace(self, row: Row[Any], legs: list[tuple[str, int]]) -> tuple[str, Topics]:
        """Its Transfer."""
        return row.token, ((TRANSFERRED,), (address_topic(self.merchant.payee),), (address_topic(row.recipient),))

    def shown(self, row: Row[Any], legs: list[tuple[str, int]], receipt: Receipt) -> list[int] | None:
        """The place of that Transfer."""
        moved = [each for each in transfers(receipt, row.token) if each.sender == self.merchant.payee]
        return paid_by(moved, legs)

    @staticmethod
    def _promised(tx: Connection, order: str) -> int:
        """Units of all refunds that were paid or may be. Summed here: in SQL it would not be exact everywhere."""
        counting = select(refunds.c.amount).where(
            refunds.c.order_id == order, refunds.c.state != DisbursementState.BLOCKED
        )
        return sum(tx.execute(counting).scalars())
