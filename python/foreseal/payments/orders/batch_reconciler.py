"""Progress of captures through the batch capture contract: one transaction, and each of its orders.

```text
receipt of the batch
  none, and it may be included  -> sent again; captures that vanished are reopened
  none, and it never can be     -> all orders that it should capture failed
  succeeded                     -> the sum of the captures equals the payment to the merchant;
                                   captured orders: provisional, confirmed, final
                                   CaptureFailed, and final: failed with the token's reason
  reverted, and final           -> failed
```

The authorization of a failed order may be unused, so the order can be captured again, in another batch.
"""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, Select, select

from foreseal.payments.chain import ChainReceipt, Incomplete
from foreseal.payments.chain.batch_capture import BatchOutcome, captured_in_batch
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import (
    IN_FLIGHT,
    REVERSIBLE,
    Finality,
    Ledger,
    OrderState,
    Trigger,
    TxStatus,
    locked_all,
)
from foreseal.payments.ledger.models import OrderRecord, Purpose, TransactionRecord, TxResult
from foreseal.payments.ledger.queries import fetch_all, update_all
from foreseal.payments.ledger.transitions import RowDetails
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.capture_checks import reverted_payment
from foreseal.payments.orders.payers import assigned_payer
from foreseal.payments.transactions import (
    TransactionOutcome,
    TransactionSender,
    close_intent,
    is_intent_open,
    open_intent,
    read_intent,
    record_deliveries,
    release_code_gas,
)
from foreseal.payments.transfers.matching import record_transfers
from foreseal.payments.transfers.observed_transfer import ObservedTransfer


class BatchReconciler:
    """Reconciler of the orders of each batch with the chain."""

    def __init__(
        self, ledger: Ledger, sender: TransactionSender, merchant: Merchant, reconcile: Callable[[str], None]
    ) -> None:
        """Set up. `reconcile` determines from logs what happened to the authorization of an order."""
        self._ledger = ledger
        self._sender = sender
        self._merchant = merchant
        self._reconcile = reconcile

    def waiting(self, *, watched: bool = False) -> list[str]:
        """Return the batches that wait for the chain, by account nonce.

        With `watched`, skip those whose captures are on the chain and not final: a `TransferWatcher` follows them.
        """
        query = open_batches()
        if watched:
            sending = select(OrderRecord.capture_batch).where(
                OrderRecord.state == OrderState.STORED,
                OrderRecord.step.in_(IN_FLIGHT),
                OrderRecord.capture_batch.is_not(None),
            )
            captured = select(OrderRecord.id).where(
                OrderRecord.capture_batch == TransactionRecord.subject,
                OrderRecord.state == OrderState.CAPTURED,
                OrderRecord.step.in_(REVERSIBLE),
            )
            query = query.where(TransactionRecord.subject.in_(sending) | ~captured.exists())
        with self._ledger.database.reading() as tx:
            return list(tx.execute(query.order_by(TransactionRecord.account_nonce)).scalars())

    def advance(self, batch: str) -> list[str]:
        """Take the next step of a batch. Return the distinct states and steps of its orders.

        Safe to repeat, and safe against crashes. Raises the node's errors, `FinalityBroken`, and `ConcurrentUpdate` if
        another process was faster.
        """
        with self._ledger.database.reading() as tx:
            intent = open_intent(tx, Purpose.CAPTURE_BATCH, batch)
        if intent is not None:
            outcome = self._sender.outcome(intent)
            self._ledger.passed(CrashPoint.RECEIPT_READ)
            if outcome.receipt is not None:
                self._landed(batch, outcome)
            elif outcome.step is TxStatus.FAILED:
                with self._ledger.database.transaction() as tx:
                    orders = _orders(tx, batch)
                    if is_intent_open(tx, intent):
                        _fail(self._ledger, tx, orders, {each.id: {"reason": outcome.reason} for each in orders})
                        close_intent(tx, intent, TxResult.REPLACED)
            else:
                self._send_again(batch, intent)
        with self._ledger.database.reading() as tx:
            status = select(OrderRecord.state, OrderRecord.step).where(OrderRecord.capture_batch == batch).distinct()
            return sorted(f"{state} ({step})" for state, step in tx.execute(status))

    def _send_again(self, batch: str, intent: int) -> None:
        with self._ledger.database.reading() as tx:
            query = select(OrderRecord.id, OrderRecord.state).where(OrderRecord.capture_batch == batch)
            states = dict(tx.execute(query).all())
        for id, state in states.items():
            if state is OrderState.CAPTURED:
                self._reconcile(id)
        record_deliveries(self._ledger, OrderRecord, dict.fromkeys(states, self._sender.deliver(intent)))

    def _landed(self, batch: str, outcome: TransactionOutcome) -> None:
        receipt, step = outcome.receipt, outcome.step
        assert receipt is not None
        with self._ledger.database.reading() as tx:
            intent = read_intent(tx, outcome.intent)[0]
            orders = fetch_all(tx, select(OrderRecord).where(OrderRecord.capture_batch == batch))
        domain, payee = self._merchant.domain, self._merchant.payee
        batch_outcome = captured_in_batch(receipt, domain.contract, intent.target, payee)
        if batch_outcome.failed:
            # The contract limits the gas of each capture; how much of it one used is not known.
            share = intent.gas // len(orders)
            failed = [each for each in orders if (assigned_payer(each), bytes(each.nonce)) in batch_outcome.failed]
            self._sender.lost_gas.record(receipt, [reverted_payment(each, share) for each in failed])
        observed = [ObservedTransfer(domain.chain_id, transfer, step) for transfer in batch_outcome.captured.values()]
        with self._ledger.database.transaction() as tx:
            record_transfers(self._ledger, tx, observed)
            orders = _orders(tx, batch)
            if not is_intent_open(tx, outcome.intent):  # another process was faster, and may have captured them again
                return
            if outcome.counts_code:
                release_code_gas(tx, [outcome.intent])
            left = [
                order for order in orders if (assigned_payer(order), bytes(order.nonce)) not in batch_outcome.captured
            ]
            to_reconcile = [order.id for order in left if order.state is OrderState.CAPTURED]
            if step is Finality.FINAL:
                close_intent(tx, outcome.intent, TxResult.INCLUDED)
                details = {order.id: _failure(order, receipt, batch_outcome) for order in left}
                to_reconcile += _fail(self._ledger, tx, left, details)
            self._ledger.passed(CrashPoint.RECEIPT_APPLIED)
        self._ledger.passed(CrashPoint.RECEIPT_STORED)
        for id in to_reconcile:
            self._reconcile(id)


def deliver_batches(ledger: Ledger, sender: TransactionSender, batches: Mapping[str, Sequence[str]]) -> None:
    """Send new batches, each with the ids of its orders, and record the node's answers."""
    delivered = sender.deliver_new(Purpose.CAPTURE_BATCH, list(batches))
    answers = {id: answer for batch, answer in delivered.items() for id in batches[batch]}
    record_deliveries(ledger, OrderRecord, answers)


def open_batches() -> Select[str]:
    """Select the batches whose transaction may still be included or undone."""
    return select(TransactionRecord.subject).where(
        TransactionRecord.purpose == Purpose.CAPTURE_BATCH, TransactionRecord.ending.is_(None)
    )


def _orders(tx: Connection, batch: str) -> list[OrderRecord]:
    """Return the orders of a batch, locked until the end of this transaction."""
    ids = list(tx.execute(select(OrderRecord.id).where(OrderRecord.capture_batch == batch)).scalars())
    # Before it was locked, an order may have entered another batch.
    return [order for order in locked_all(tx, OrderRecord, ids) if order.capture_batch == batch]


def _failure(order: OrderRecord, receipt: ChainReceipt, batch_outcome: BatchOutcome) -> dict[str, str]:
    """Return the details of a capture that failed. Raises `Incomplete` if the receipt lacks its outcome."""
    details = {"transaction": receipt.transaction_hash}
    if not receipt.succeeded:
        return details | {"reason": "reverted"}
    failed = batch_outcome.failed.get((assigned_payer(order), bytes(order.nonce)))
    if failed is None:
        raise Incomplete(f"{receipt.transaction_hash} succeeded, and its receipt lacks the logs of order {order.id}")
    return details | {"reason": "capture_failed", "message": failed.reason}


def _fail(ledger: Ledger, tx: Connection, orders: list[OrderRecord], details: RowDetails) -> list[str]:
    """Record that the captures of these orders failed. Return those that were waiting for one."""
    failed = [
        each for each in orders if each.state is OrderState.STORED and ledger.allows(OrderRecord, each, Trigger.FAIL)
    ]
    ledger.move_all(tx, OrderRecord, failed, Trigger.FAIL, details)
    update_all(
        tx,
        OrderRecord,
        [({OrderRecord.id: each.id}, {OrderRecord.last_error: details[each.id].get("message")}) for each in failed],
    )
    return [each.id for each in failed]
