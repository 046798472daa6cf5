"""Effect of a delivery or a receipt on the row that a transaction serves."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from sqlalchemy import Connection

from foreseal.payments.chain import ChainReceipt
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import EFFECTED, Finality, Ledger, Trigger, TxStatus, locked, locked_all
from foreseal.payments.ledger.models import OrderRecord, TxResult
from foreseal.payments.ledger.queries import ColumnValues, update_all
from foreseal.payments.ledger.record import StatefulRecord
from foreseal.payments.transactions.intents import close_intent, is_intent_open
from foreseal.payments.transactions.sender import DeliveryResult, DeliveryStatus, TransactionOutcome

S = TypeVar("S", bound=StatefulRecord)
FindEffect = Callable[[S, ChainReceipt], dict[str, object] | None]
"""Function that returns the log positions of the effect in a receipt, for the timeline, or None if it shows none."""

_TRIGGERS = {DeliveryStatus.ACCEPTED: Trigger.ACCEPTED, DeliveryStatus.UNKNOWN: Trigger.LOST}


def record_delivery(ledger: Ledger, model: type[StatefulRecord], id: str, delivered: DeliveryResult) -> None:
    """Apply the node's answer to an order, refund or payout. An answer without news changes nothing.

    After a rejection the row stays intended: nothing happened, and the same bytes are sent again. An order stores the
    node's message until the node accepts a transaction.
    """
    record_deliveries(ledger, model, {id: delivered})


def record_deliveries(ledger: Ledger, model: type[StatefulRecord], delivered: Mapping[str, DeliveryResult]) -> None:
    """Apply the node's answers to rows of one table, by id, like `record_delivery`."""
    # If a power loss undoes this, the same bytes are sent again.
    with ledger.database.transaction(durable=False) as tx:
        rows = locked_all(tx, model, delivered)
        for status, trigger in _TRIGGERS.items():
            moving = [row for row in rows if delivered[row.id].status is status and ledger.allows(model, row, trigger)]
            messages = {row.id: delivered[row.id].message for row in moving}
            details = {id: {"node": message} if message else {} for id, message in messages.items()}
            ledger.move_all(tx, model, moving, trigger, details)
        if model is OrderRecord:
            _store_errors(tx, cast("list[OrderRecord]", rows), delivered)
    for id, result in delivered.items():
        if result.status is DeliveryStatus.REJECTED:
            ledger.database.observer.record_rejection(model.__tablename__, id, result.message)
    ledger.passed(CrashPoint.TRANSACTION_NOTED)


def _store_errors(tx: Connection, orders: Sequence[OrderRecord], delivered: Mapping[str, DeliveryResult]) -> None:
    """Store the node's rejections in orders, and remove them from orders whose transaction it accepted."""
    changes: list[tuple[ColumnValues, ColumnValues]] = []
    for order in orders:
        result = delivered[order.id]
        error = result.message if result.status is DeliveryStatus.REJECTED else order.last_error
        if result.status is DeliveryStatus.ACCEPTED:
            error = None
        if error != order.last_error:
            changes.append(({OrderRecord.id: order.id}, {OrderRecord.last_error: error}))
    update_all(tx, OrderRecord, changes)


def record_outcome(
    ledger: Ledger, tx: Connection, model: type[S], id: str, outcome: TransactionOutcome, shown: FindEffect[S]
) -> bool:
    """Move a refund, payout or settlement to the step of its transaction. Close the transaction once that is final.

    Return False if another process was faster and may have started the next intent. Raises the errors of `shown`.
    """
    row = locked(tx, model, id)
    if not is_intent_open(tx, outcome.intent):
        return False
    receipt, step = outcome.receipt, outcome.step
    details: dict[str, object] = {}
    if receipt is not None:
        details |= {"transaction": receipt.transaction_hash, "block": receipt.block_hash}
    logs = None if receipt is None else shown(row, receipt)
    if logs is not None:
        details |= logs
        if row.step not in EFFECTED:
            row = ledger.move(tx, model, row, Trigger.LANDED, **details)
        ledger.follow(tx, model, row, step, **details)
    else:
        if row.step in EFFECTED:
            row = ledger.move(tx, model, row, Trigger.REOPEN)
        if step in (Finality.FINAL, TxStatus.FAILED):
            if outcome.reason:
                details["reason"] = outcome.reason
            ledger.move(tx, model, row, Trigger.FAIL, **details)
    if step in (Finality.FINAL, TxStatus.FAILED):
        close_intent(tx, outcome.intent, TxResult.INCLUDED if step is Finality.FINAL else TxResult.REPLACED)
    return True
