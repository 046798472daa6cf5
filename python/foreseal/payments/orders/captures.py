"""Captures: the decision that excludes a void, and the transaction that it sends.

```text
check  node reads in one batch, nothing stored        CaptureChecks
store  compare-and-set, account nonces, signed bytes  one database transaction for all orders
send   the stored bytes                               one batch
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.amounts import check_amount
from foreseal.payments.chain import ChainError
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.group_operation import ItemResult, convert_result, run_deferred
from foreseal.payments.ledger import (
    Ledger,
    LedgerError,
    OrderStatus,
    TransitionNotAllowed,
    Trigger,
    UnknownRecord,
    locked_all,
    read,
    read_all,
    unknown_record,
)
from foreseal.payments.ledger.models import OrderRecord, Purpose
from foreseal.payments.ledger.queries import update_all
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.batch_reconciler import deliver_batches
from foreseal.payments.orders.capture_batches import BatchedCapture, plan_batches
from foreseal.payments.orders.capture_checks import (
    CaptureChecks,
    CaptureObstacle,
    CaptureTarget,
    NotCapturable,
)
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.orders.terms import SignedOrder
from foreseal.payments.transactions import (
    NewIntent,
    SendingError,
    TransactionCall,
    TransactionSender,
    TransactionStillOpen,
    open_intent,
    record_deliveries,
)


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """A stored order to capture."""

    id: str
    amount: int | None = None
    """Amount to capture, in smallest units: required for an order with a permit, at most its maximum."""


@dataclass(frozen=True, slots=True)
class CheckedCapture:
    """An order that can be captured, with the call for it."""

    target: CaptureTarget
    call: TransactionCall


@dataclass(frozen=True, slots=True)
class DecidedCapture:
    """A capture in the database."""

    id: str
    """Id of the order."""
    batch: str | None
    """Batch that captures it through the batch capture contract."""


class Captures:
    """Captures of stored orders.

    By receiveWithAuthorization (EIP-3009), alone or through the batch capture contract, or by the payee's checkout and
    a permit.
    """

    def __init__(
        self, ledger: Ledger, sender: TransactionSender, merchant: Merchant, *, is_automatic: bool = False
    ) -> None:
        """Set up. If captures are automatic, the budget of payers with code must have room for their gas.

        Otherwise the merchant has decided each of them.
        """
        self._is_automatic = is_automatic
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
        (checked,) = run_deferred(self.check([CaptureRequest(id, amount)]))
        if isinstance(checked, Exception):
            raise checked
        with self._ledger.database.transaction() as tx:
            (decided,) = self.store(tx, [checked])
            if isinstance(decided, Exception):
                raise decided
        self.send([decided])
        with self._ledger.database.reading() as tx:
            return read(tx, OrderRecord, id)

    def check(self, requests: Sequence[CaptureRequest]) -> list[ItemResult[CheckedCapture]]:
        """Return the call for each order, or the reason why it cannot be captured. Stores nothing.

        An order whose payer is a wallet has a `DeferredCheck` instead.
        """
        with self._ledger.database.reading() as tx:
            orders = {row.id: row for row in read_all(tx, OrderRecord, [each.id for each in requests])}
        results: dict[int, ItemResult[CheckedCapture]] = {}
        targets: dict[int, CaptureTarget] = {}
        for position, request in enumerate(requests):
            try:
                target = _target(request, orders.get(request.id))
                self._merchant.check_payment(target.amount)
                targets[position] = target
            except (UnknownRecord, TransitionNotAllowed, ValueError, TypeError) as error:
                results[position] = error
        calls = self._checks.check(list(targets.values()))
        for (position, target), call in zip(targets.items(), calls, strict=True):
            results[position] = convert_result(call, partial(self._checked, target))
        self._ledger.passed(CrashPoint.CAPTURE_CHECKED)
        return [results[position] for position in range(len(requests))]

    def _checked(self, target: CaptureTarget, result: TransactionCall | Exception) -> CheckedCapture | Exception:
        """Return a target with its call, or the reason against it, after recording how it was used on the chain."""
        if isinstance(result, NotCapturable) and result.obstacle is CaptureObstacle.USED:
            try:
                self._progress.reconcile(target.order.id)
            except (ChainError, LedgerError, SQLAlchemyError) as error:
                return error
        return result if isinstance(result, Exception) else CheckedCapture(target, result)

    def store(
        self, tx: Connection, captures: Sequence[CheckedCapture]
    ) -> list[DecidedCapture | TransitionNotAllowed | SendingError]:
        """Decide captures of distinct orders in the caller's transaction, or return the reason against each.

        Raises `SendingError` if the key cannot sign. Raises `ConcurrentUpdate` and `TransactionStillOpen`, which end
        the transaction.
        """
        results, allowed = self._allowed(tx, captures)
        batched = [each for each, _ in allowed if self._checks.is_batched(each.target.order)]
        batches = plan_batches([BatchedCapture(each.target.order, each.call) for each in batched])
        batch_of = {id: batch.id for batch in batches for id in batch.order_ids}
        new = [NewIntent(Purpose.CAPTURE, row.id, each.call) for each, row in allowed if row.id not in batch_of]
        new += [NewIntent(Purpose.CAPTURE_BATCH, batch.id, batch.call) for batch in batches]
        self._sender.intents.store_all(tx, new)
        # After the signatures: entries that are recorded are counted, even if the caller undoes the rest.
        details = {row.id: _details(each.target, batch_of) for each, row in allowed}
        self._ledger.move_all(tx, OrderRecord, [row for _, row in allowed], Trigger.CAPTURE, details)
        permits = [each.target for each, _ in allowed if each.target.order.checkout is not None]
        update_all(
            tx, OrderRecord, [({OrderRecord.id: each.order.id}, {OrderRecord.actual: each.amount}) for each in permits]
        )
        update_all(
            tx, OrderRecord, [({OrderRecord.id: id}, {OrderRecord.capture_batch: batch_of[id]}) for id in batch_of]
        )
        self._ledger.passed(CrashPoint.CAPTURE_DECIDED)
        ids = [each.target.order.id for each in captures]
        return [results.get(id) or DecidedCapture(id, batch_of.get(id)) for id in ids]

    def _allowed(
        self, tx: Connection, captures: Sequence[CheckedCapture]
    ) -> tuple[dict[str, TransitionNotAllowed | SendingError], list[tuple[CheckedCapture, OrderRecord]]]:
        """Return the reasons against captures by order, and the other captures with their locked orders."""
        rows = {row.id: row for row in locked_all(tx, OrderRecord, [each.target.order.id for each in captures])}
        rejected: dict[str, TransitionNotAllowed | SendingError] = {}
        allowed: list[tuple[CheckedCapture, OrderRecord]] = []
        for each in captures:
            row = rows[each.target.order.id]
            try:
                _require_capturable(tx, row)
            except (TransitionNotAllowed, TransactionStillOpen) as error:
                rejected[row.id] = error
            else:
                allowed.append((each, row))
        if self._is_automatic:
            counted = [BatchedCapture(each.target.order, each.call) for each, _ in allowed]
            rejected |= self._checks.find_without_room(tx, counted)
            allowed = [(each, row) for each, row in allowed if row.id not in rejected]
        return rejected, allowed

    def send(self, decided: Sequence[DecidedCapture]) -> None:
        """Send new captures, and record the node's answers. Raises nothing of the node."""
        send_captures(self._ledger, self._sender, decided)


def send_captures(ledger: Ledger, sender: TransactionSender, decided: Sequence[DecidedCapture]) -> None:
    """Send new captures, and record the node's answers. Raises nothing of the node."""
    ledger.passed(CrashPoint.CAPTURE_STORED)
    ids = [each.id for each in decided if each.batch is None]
    if ids:
        record_deliveries(ledger, OrderRecord, sender.deliver_new(Purpose.CAPTURE, ids))
    batches: dict[str, list[str]] = {}
    for each in decided:
        if each.batch is not None:
            batches.setdefault(each.batch, []).append(each.id)
    if batches:
        deliver_batches(ledger, sender, batches)


def _target(request: CaptureRequest, order: OrderRecord | None) -> CaptureTarget:
    if order is None:
        raise unknown_record(OrderRecord, request.id)
    next_status(ORDER_TRANSITIONS, OrderStatus(order.state, order.step), Trigger.CAPTURE)
    return CaptureTarget(order, capture_amount(order, request.amount))


def _require_capturable(tx: Connection, order: OrderRecord) -> None:
    """Raise `TransitionNotAllowed` or `TransactionStillOpen` unless a capture of the order can be decided."""
    next_status(ORDER_TRANSITIONS, OrderStatus(order.state, order.step), Trigger.CAPTURE)
    batch = order.capture_batch
    if batch is not None and open_intent(tx, Purpose.CAPTURE_BATCH, batch) is not None:
        raise TransactionStillOpen(f"orders: the transaction of {order.id} may still be included")


def _details(target: CaptureTarget, batch_of: Mapping[str, str]) -> Mapping[str, object]:
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
