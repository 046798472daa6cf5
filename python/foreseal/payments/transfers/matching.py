"""Effect of on-chain transfers on orders. The rows of `transfers` are authoritative, and orders follow them.

Receipts of own captures and the watcher both report transfers here. A transfer that matches an order captures it. An
unmatched transfer goes to `unmatched_transfers`. A transfer that left the chain reopens its order. Each change is part
of the caller's database transaction.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

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
from foreseal.payments.ledger.tables import Reason, authorizations, orders, transfers, unmatched_transfers
from foreseal.payments.ledger.timeline import record_entry

_LATE = (OrderState.VOIDED, OrderState.CANCELED, OrderState.EXPIRED)


@dataclass(frozen=True, slots=True)
class ObservedTransfer:
    """A transfer to the merchant on the chain."""

    chain_id: int
    transfer: Transfer
    step: StatusStep
    """PROVISIONAL, CONFIRMED or FINAL."""

    def values(self) -> dict[str, Any]:
        """Return the columns of its row, except the order."""
        log = self.transfer.log
        return {
            "chain_id": self.chain_id,
            "transaction_hash": log.transaction_hash,
            "position": self.transfer.position,
            "block_hash": log.block_hash,
            "log_index": log.log_index,
            "block_number": log.block_number,
            "token": log.address,
            "sender": self.transfer.sender,
            "recipient": self.transfer.recipient,
            "amount": self.transfer.amount,
            "nonce": self.transfer.nonce,
            "memo": self.transfer.memo,
            "checkout": self.transfer.checkout,
            "step": self.step,
        }


# Columns that identify the content: after a reorganization, the same key may have a different transfer.
_CONTENT = ("token", "sender", "recipient", "amount", "nonce", "memo", "checkout")


def record_transfer(ledger: Ledger, tx: Connection, observed: ObservedTransfer) -> None:
    """Record a transfer or its new position, and move its order accordingly. Raises `FinalityBroken`."""
    values = observed.values()
    row = tx.execute(select(transfers).where(_key(transfers, values)).with_for_update()).one_or_none()
    if row is not None and any(getattr(row, name) != values[name] for name in _CONTENT):
        remove_transfer(ledger, tx, row)
        row = None
    if row is None:
        try:
            tx.execute(insert(transfers).values(**values))
        except IntegrityError as error:
            raise ConcurrentUpdate(f"transfer {values['transaction_hash']} was recorded by another process") from error
        _match(ledger, tx, observed)
    elif row.step is Finality.FINAL:
        if row.block_hash != values["block_hash"]:
            raise FinalityBroken(f"transfer {row.transaction_hash}: its final block {row.block_hash} is gone")
    else:
        tx.execute(update(transfers).where(_key(transfers, values)).values(**values))
        if row.order_id is not None:
            ledger.follow(tx, orders, locked(tx, orders, row.order_id), observed.step)


def remove_transfer(ledger: Ledger, tx: Connection, row: Row[Any]) -> None:
    """Delete a transfer that left the chain, and reopen its order. Raises `FinalityBroken`."""
    if row.step is Finality.FINAL:
        raise FinalityBroken(f"transfer {row.transaction_hash}: it was in the final block {row.block_hash}")
    key = row._mapping
    if row.order_id is not None:
        order = locked(tx, orders, row.order_id)
        ledger.move(tx, orders, order, Trigger.REOPEN, transaction=row.transaction_hash, block=row.block_hash)
    tx.execute(delete(unmatched_transfers).where(_key(unmatched_transfers, key)))
    tx.execute(delete(transfers).where(_key(transfers, key)))


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
    before = tx.execute(select(transfers).where(transfers.c.order_id == order.id)).one_or_none()
    if (
        by_authorization
        and before is not None
        and (before.nonce, before.checkout) == (transfer.nonce, transfer.checkout)
    ):
        # Each nonce allows one transfer, so the earlier one belongs to a chain that was reorganized away.
        remove_transfer(ledger, tx, before)
        order, before = locked(tx, orders, order.id), None
    reason = _reason(order, before, transfer, by_authorization=by_authorization)
    if reason is not None:
        _suspend(tx, observed, reason, order.id)
        status, log = str(OrderStatus(order.state, order.step)), transfer.log
        details = {"reason": reason, "transaction": log.transaction_hash, "amount": str(transfer.amount)}
        record_entry(tx, TimelineEntry(orders.name, order.id, ledger.clock(), "suspense", status, status, details))
        return
    tx.execute(update(transfers).where(_key(transfers, observed.values())).values(order_id=order.id))
    details = {"transaction": transfer.log.transaction_hash, "block": transfer.log.block_hash}
    if order.checkout is not None:
        # If the ledger was restored from an older database, the amount may differ from the one decided here.
        tx.execute(update(orders).where(orders.c.id == order.id).values(actual=transfer.amount))
    order = ledger.move(tx, orders, order, Trigger.LANDED, **details)
    ledger.follow(tx, orders, order, observed.step)


def _find_by_authorization(tx: Connection, observed: ObservedTransfer) -> Row[Any] | None:
    same = and_(
        authorizations.c.chain_id == observed.chain_id,
        authorizations.c.contract == (observed.transfer.checkout or observed.transfer.log.address),
        authorizations.c.payer == observed.transfer.sender,
        authorizations.c.nonce == observed.transfer.nonce,
    )
    found = tx.execute(select(authorizations.c.order_id).where(same)).scalar_one_or_none()
    return None if found is None else locked(tx, orders, found)


def _find_by_memo(tx: Connection, observed: ObservedTransfer) -> Row[Any] | None:
    same = and_(
        orders.c.chain_id == observed.chain_id,
        orders.c.token == observed.transfer.log.address,
        orders.c.memo == observed.transfer.memo,
    )
    return tx.execute(select(orders).where(same).with_for_update()).one_or_none()


def _reason(order: Row[Any], before: Row[Any] | None, transfer: Transfer, *, by_authorization: bool) -> Reason | None:
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
    key = {name: observed.values()[name] for name in ("chain_id", "transaction_hash", "position")}
    tx.execute(insert(unmatched_transfers).values(**key, reason=reason, order_id=order))


def _key(table: Table, values: Any) -> Any:
    return and_(*(table.c[name] == values[name] for name in ("chain_id", "transaction_hash", "position")))
