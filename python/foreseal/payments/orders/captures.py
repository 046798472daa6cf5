"""Captures: the decision that excludes a void, and the transaction that it sends.

```text
check   node reads in one batch, nothing stored        CaptureChecks
decide  compare-and-set, account nonces, signed bytes  one database transaction for all orders
deliver the stored bytes                               one batch
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from foreseal.payments.amounts import check_amount
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import ConcurrentUpdate, Ledger, OrderStatus, Trigger, locked_all, read
from foreseal.payments.ledger.models import OrderRecord, Purpose
from foreseal.payments.ledger.queries import update_all
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import SignedOrder
from foreseal.payments.orders.capture_batches import BatchedCapture, plan_batches
from foreseal.payments.orders.capture_checks import (
    CaptureChecks,
    CaptureObstacle,
    CaptureTarget,
    NotCapturable,
)
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.transactions import (
    NewIntent,
    TransactionCall,
    TransactionSender,
    TransactionStillOpen,
    open_intent,
)


@dataclass(frozen=True, slots=True)
class CheckedCapture:
    """An order that can be captured, with the call for it."""

    target: CaptureTarget
    call: TransactionCall


class Captures:
    """Captures of stored orders.

    By receiveWithAuthorization (EIP-3009), alone or through the batch capture contract, or by the payee's checkout and
    a permit.
    """

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        self._ledger = ledger
        self._sender = sender
        self._merchant = merchant
        self._checks = CaptureChecks(sender, merchant)
        self._progress = OrderReconciler(ledger, sender, merchant)

    def capture(self, id: str, amount: int | None = None) -> OrderRecord:
        """Decide to capture a stored order, and send the transaction. Return the updated order.

        `amount`, in smallest units, is the amount to capture. An order with a permit needs it: at most the permitted
        maximum, captured once. Any other order has one amount; another value raises ValueError.

        The order becomes captured only by the logs of a receipt, which `OrderReconciler.advance` reads. Raises
        `NotCapturable`, `InvalidSignature`, `WrongChain`, `FeeTooHigh` and the node's errors, all before anything is
        stored. Raises `TransitionNotAllowed` and `ConcurrentUpdate` if the order is void or its capture is already
        decided.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, OrderRecord, id)
        next_status(ORDER_TRANSITIONS, OrderStatus(order.state, order.step), Trigger.CAPTURE)
        target = CaptureTarget(order, capture_amount(order, amount))
        checked = self.check([target])[0]
        if isinstance(checked, Exception):
            raise checked
        self._ledger.passed(CrashPoint.CAPTURE_CHECKED)
        with self._ledger.database.transaction() as tx:
            intents = self.decide(tx, [CheckedCapture(target, checked)])
            self._ledger.passed(CrashPoint.CAPTURE_DECIDED)
        self._ledger.passed(CrashPoint.CAPTURE_STORED)
        return self._progress.deliver(id, intents[id])

    def check(self, targets: Sequence[CaptureTarget]) -> list[TransactionCall | Exception]:
        """Return the call for each target, or the reason why it cannot be captured."""
        results: list[TransactionCall | Exception] = list(self._checks.check(targets))
        for position, (target, result) in enumerate(zip(targets, results, strict=True)):
            if isinstance(result, NotCapturable) and result.obstacle is CaptureObstacle.USED:
                try:
                    self._progress.reconcile(target.order.id)
                except Exception as error:
                    results[position] = error
        return results

    def decide(self, tx: Connection, captures: Sequence[CheckedCapture]) -> dict[str, int]:
        """Decide captures of stored orders in the caller's transaction. Return the intent of each order.

        Raises `TransitionNotAllowed`, `ConcurrentUpdate` and `TransactionStillOpen`, which end the transaction.
        """
        ids = [each.target.order.id for each in captures]
        rows = {row.id: row for row in locked_all(tx, OrderRecord, ids)}
        if len(rows) != len(ids):
            raise ConcurrentUpdate("orders: an order to capture is gone or occurs twice")
        batched = [each for each in captures if self._checks.is_batched(each.target.order)]
        for row in (rows[each.target.order.id] for each in batched):
            if row.capture_batch is not None and open_intent(tx, Purpose.CAPTURE_BATCH, row.capture_batch) is not None:
                raise TransactionStillOpen(f"orders: the transaction of {row.id} may still be included")
        batches = plan_batches([BatchedCapture(each.target.order, each.call) for each in batched])
        batch_of = {id: batch.id for batch in batches for id in batch.order_ids}
        details = {each.target.order.id: _details(each.target, batch_of) for each in captures}
        self._ledger.move_all(tx, OrderRecord, [rows[id] for id in ids], Trigger.CAPTURE, details)
        permits = [each.target for each in captures if each.target.order.checkout is not None]
        update_all(
            tx, OrderRecord, [({OrderRecord.id: each.order.id}, {OrderRecord.actual: each.amount}) for each in permits]
        )
        update_all(
            tx, OrderRecord, [({OrderRecord.id: id}, {OrderRecord.capture_batch: batch_of[id]}) for id in batch_of]
        )
        new = [
            NewIntent(Purpose.CAPTURE, each.target.order.id, each.call)
            for each in captures
            if each.target.order.id not in batch_of
        ]
        new += [NewIntent(Purpose.CAPTURE_BATCH, batch.id, batch.call) for batch in batches]
        intents = {
            each.subject: intent for each, intent in zip(new, self._sender.intents.store_all(tx, new), strict=True)
        }
        return {id: intents[batch_of.get(id, id)] for id in ids}


def _details(target: CaptureTarget, batch_of: Mapping[str, str]) -> Mapping[str, Any]:
    order = target.order
    if order.id in batch_of:
        return {"batch": batch_of[order.id]}
    return {} if order.checkout is None else {"amount": str(target.amount), "checkout": order.checkout}


def capture_amount(order: SignedOrder, amount: int | None) -> int:
    """Return the amount to capture. Raises ValueError or TypeError if it does not fit the order."""
    if order.checkout is None:
        if amount not in (None, order.amount):
            raise ValueError(f"amount: must be the authorized {order.amount}, got {amount}")
        return int(order.amount)
    if amount is None:
        raise ValueError(f"amount: required for a permit of up to {order.amount} units")
    if not 0 < check_amount(amount) <= order.amount:
        raise ValueError(f"amount: {amount} must be between 1 and {order.amount}, the amount of the permit")
    return amount
