"""Progress of orders after a decision, from the chain's evidence of captures and cancellations.

```text
advance: receipts of the stored transaction
  none, and it may be included  -> sent again; an earlier effect is reopened
  none, and it never can be     -> failed, by another transaction or an empty transfer with its account nonce
  logs show the effect          -> captured or canceled: provisional, confirmed, final
  no effect, and final          -> failed; the logs of (payer, nonce) then show who used the authorization
```

`BatchReconciler` does the same for the orders of an open batch.

A capture or cancellation that this ledger did not send is also found by the logs of (payer, nonce).
"""

from sqlalchemy import Connection, or_, select

from foreseal.payments.chain import ChainReceipt, ChainReorganized, Incomplete
from foreseal.payments.chain.token import canceled, transfers
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import (
    IN_FLIGHT,
    REVERSIBLE,
    ConcurrentUpdate,
    Finality,
    Ledger,
    OrderState,
    StatusStep,
    Trigger,
    TxStatus,
    locked,
    read,
)
from foreseal.payments.ledger.models import OrderRecord, Purpose, TransferRecord, TxResult
from foreseal.payments.ledger.queries import fetch_one
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.batch_reconciler import BatchReconciler, open_batches
from foreseal.payments.orders.capture_checks import reverted_payment
from foreseal.payments.orders.payers import assigned_payer
from foreseal.payments.transactions import (
    TransactionOutcome,
    TransactionSender,
    advance_rows,
    block_finality,
    close_intent,
    is_intent_open,
    open_intent,
    open_subjects,
    record_delivery,
    release_code_gas,
)
from foreseal.payments.transfers.authorization_logs import find_order_consumption, is_used
from foreseal.payments.transfers.matching import record_transfer, remove_transfer
from foreseal.payments.transfers.observed_transfer import ObservedTransfer

_SENDING = (OrderState.STORED, OrderState.VOIDED)
_EFFECTED = (OrderState.CAPTURED, OrderState.CANCELED)
_PURPOSES = (Purpose.CAPTURE, Purpose.CANCEL)


class NotExpired(Exception):
    """No final block has reached validBefore, or the authorization was used or canceled before."""


class OrderReconciler:
    """Reconciler that moves orders to the state shown by the chain."""

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        self._ledger = ledger
        self._sender = sender
        self.batches = BatchReconciler(ledger, sender, merchant, self.reconcile)

    def advance(self, id: str) -> OrderRecord:
        """Take the next step of an order. Return the updated row. Safe to repeat, and safe against crashes.

        Raises the node's errors, `FinalityBroken`, and `ConcurrentUpdate` if another process was faster.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, OrderRecord, id)
            intent, is_batch = _open_intent(tx, order)
        if intent is not None and is_batch:
            assert order.capture_batch is not None
            self.batches.advance(order.capture_batch)
        elif intent is not None:
            self._reconcile_transaction(order, intent)
        elif order.step in IN_FLIGHT:
            # Without an open intent, a reorganization undid a transaction that this ledger did not send.
            with self._ledger.database.transaction() as tx:
                order = locked(tx, OrderRecord, id)
                if _open_intent(tx, order)[0] is None:
                    self._fail(tx, order, "no_transaction")
        elif order.state in _EFFECTED and order.step is not Finality.FINAL:
            self.reconcile(id)
        with self._ledger.database.reading() as tx:
            return read(tx, OrderRecord, id)

    def waiting(self, *, watched: bool = False) -> list[str]:
        """Return the orders that wait for the chain: first those with open intents, by account nonce.

        Those of open batches are left out: `batches.waiting` returns the batches. With `watched`, also skip captures
        that are not final yet: a `TransferWatcher` follows those.
        """
        # State and step have an index; nearly all orders are done.
        captured = (OrderRecord.state == OrderState.CAPTURED) & OrderRecord.step.in_(REVERSIBLE)
        effected = (OrderState.CANCELED,) if watched else _EFFECTED
        waiting = or_(
            OrderRecord.state.in_(_SENDING) & OrderRecord.step.in_(IN_FLIGHT),
            OrderRecord.state.in_(effected) & OrderRecord.step.in_(REVERSIBLE),
        )
        waiting &= or_(OrderRecord.capture_batch.is_(None), OrderRecord.capture_batch.not_in(open_batches()))
        with self._ledger.database.reading() as tx:
            moving = tx.execute(select(OrderRecord.id).where(waiting).order_by(OrderRecord.id)).scalars()
            left_out = select(OrderRecord.id).where(captured) if watched else None
            return list(dict.fromkeys([*open_subjects(tx, *_PURPOSES, without=left_out), *moving]))

    def resume(self) -> dict[str, Exception]:
        """Advance all that waits for the chain, for example after a start. Return the errors by batch or order."""
        errors = advance_rows(self.batches.waiting(), self.batches.advance)
        return errors | advance_rows(self.waiting(), self.advance)

    def deliver(self, id: str, intent: int) -> OrderRecord:
        """Send an intent of an order, and record the node's answer. Return the updated order."""
        record_delivery(self._ledger, OrderRecord, id, self._sender.deliver(intent))
        with self._ledger.database.reading() as tx:
            return read(tx, OrderRecord, id)

    def reconcile(self, id: str) -> None:
        """Determine from logs what happened to an order's authorization, independent of the sender.

        Raises the node's errors.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, OrderRecord, id)
        receipt = find_order_consumption(self._sender.node, order)
        step = (
            None
            if receipt is None
            else block_finality(self._sender.node, self._sender.policy, receipt.block_number, receipt.block_hash)
        )
        if receipt is not None and step is None:
            raise ChainReorganized(f"transaction {receipt.transaction_hash} left its block during the read")
        with self._ledger.database.transaction() as tx:
            order = locked(tx, OrderRecord, id)
            if receipt is None or step is None:
                self._reopen(tx, order)
            elif canceled(receipt, order.token, assigned_payer(order), order.nonce):
                self._canceled(tx, order, receipt, step)
            else:
                self._captured(tx, order, receipt, step)

    def expire(self, id: str) -> None:
        """Record that an authorization can never be used any more.

        Raises `NotExpired` also if it was used or canceled, after recording that. Raises `TransitionNotAllowed` and the
        node's errors.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, OrderRecord, id)
        final = self._sender.node.head("finalized")
        if final is None or final.timestamp < order.valid_before:
            raise NotExpired(f"orders: {id} is valid until {order.valid_before}, which no final block has reached")
        if self._is_used(order, final.number):
            self.reconcile(id)
            raise NotExpired(f"orders: the authorization of {id} was used or canceled")
        with self._ledger.database.transaction() as tx:
            current = locked(tx, OrderRecord, id)
            if current.payer != order.payer:
                raise ConcurrentUpdate(f"orders: {id} got its payer during the read")
            self._ledger.move(tx, OrderRecord, current, Trigger.EXPIRE, block=final.hash)
            self._ledger.passed(CrashPoint.EXPIRY_DECIDED)

    def _is_used(self, order: OrderRecord, final: int) -> bool:
        """Return True if an order's signature is used or canceled as of a final block.

        If the latest block shows it as unused, so do all earlier blocks. Not every node has the state of earlier
        blocks.
        """
        node = self._sender.node
        latest = node.head("latest")
        blocks = [latest.number, final] if latest is not None and latest.number > final else [final]
        return all(is_used(node, order, block) for block in blocks)

    def _reconcile_transaction(self, order: OrderRecord, intent: int) -> None:
        outcome = self._sender.outcome(intent)
        self._ledger.passed(CrashPoint.RECEIPT_READ)
        if outcome.receipt is not None:
            self._landed(order, intent, outcome)
        elif outcome.step is TxStatus.FAILED:
            with self._ledger.database.transaction() as tx:
                order = locked(tx, OrderRecord, order.id)
                if is_intent_open(tx, intent):
                    self._fail(tx, order, outcome.reason)
                    close_intent(tx, intent, TxResult.REPLACED)
        else:
            if order.state in _EFFECTED:
                self.reconcile(order.id)
            self.deliver(order.id, intent)

    def _landed(self, order: OrderRecord, intent: int, outcome: TransactionOutcome) -> None:
        id, receipt, step = order.id, outcome.receipt, outcome.step
        assert receipt is not None
        if not receipt.succeeded:
            self._sender.lost_gas.record(receipt, [reverted_payment(order, receipt.gas_used)])
        with self._ledger.database.transaction() as tx:
            order = locked(tx, OrderRecord, id)
            if not is_intent_open(tx, intent):  # another process was faster, and may have started the next intent
                return
            if outcome.counts_code:
                release_code_gas(tx, [intent])
            if canceled(receipt, order.token, assigned_payer(order), order.nonce):
                self._canceled(tx, order, receipt, step)
                nothing = False
            else:
                nothing = not self._captured(tx, order, receipt, step)
            if step is Finality.FINAL:
                close_intent(tx, intent, TxResult.INCLUDED)
                if nothing and receipt.succeeded:
                    raise Incomplete(f"{receipt.transaction_hash} succeeded, and its receipt lacks the token's logs")
                if nothing:
                    self._fail(tx, locked(tx, OrderRecord, id), "reverted", transaction=receipt.transaction_hash)
            self._ledger.passed(CrashPoint.RECEIPT_APPLIED)
        self._ledger.passed(CrashPoint.RECEIPT_STORED)
        if nothing and (step is Finality.FINAL or order.state in _EFFECTED):
            self.reconcile(id)

    def _captured(self, tx: Connection, order: OrderRecord, receipt: ChainReceipt, step: StatusStep) -> bool:
        """Record the transfers of a receipt that used this authorization. Return True if there was one."""
        matching = [
            candidate
            for candidate in transfers(receipt, order.token)
            if (candidate.sender, candidate.recipient, candidate.nonce, candidate.checkout)
            == (order.payer, order.payee, order.nonce, order.checkout)
        ]
        for transfer in matching:
            record_transfer(self._ledger, tx, ObservedTransfer(order.chain_id, transfer, step))
        return bool(matching)

    def _canceled(self, tx: Connection, order: OrderRecord, receipt: ChainReceipt, step: StatusStep) -> None:
        """Record that the authorization of an order was canceled on the chain.

        If the payer canceled a stored order directly, the order is also voided, once the cancellation is final.
        """
        details = {"transaction": receipt.transaction_hash, "block": receipt.block_hash}
        if order.state is OrderState.CAPTURED:
            self._reopen(tx, order)
            return
        if step is Finality.FINAL and self._ledger.allows(OrderRecord, order, Trigger.VOID):
            order = self._ledger.move(tx, OrderRecord, order, Trigger.VOID, reason="payer_canceled", **details)
        if order.state is OrderState.VOIDED:
            order = self._ledger.move(tx, OrderRecord, order, Trigger.LANDED, **details)
        if order.state is OrderState.CANCELED:
            self._ledger.follow(tx, OrderRecord, order, step, **details)

    def _reopen(self, tx: Connection, order: OrderRecord) -> None:
        """Undo the recorded effect of an order that the chain no longer has."""
        if order.state is OrderState.CAPTURED:
            remove_transfer(
                self._ledger, tx, fetch_one(tx, select(TransferRecord).where(TransferRecord.order_id == order.id))
            )
        elif order.state is OrderState.CANCELED:
            self._ledger.move(tx, OrderRecord, order, Trigger.REOPEN)

    def _fail(self, tx: Connection, order: OrderRecord, reason: str, **details: object) -> None:
        if self._ledger.allows(OrderRecord, order, Trigger.FAIL):
            self._ledger.move(tx, OrderRecord, order, Trigger.FAIL, reason=reason, **details)


def _open_intent(tx: Connection, order: OrderRecord) -> tuple[int | None, bool]:
    """Return the open transaction of an order, and True if it is a batch."""
    if order.capture_batch is not None:
        intent = open_intent(tx, Purpose.CAPTURE_BATCH, order.capture_batch)
        if intent is not None:
            return intent, True
    intents = [open_intent(tx, purpose, order.id) for purpose in _PURPOSES]
    return next((candidate for candidate in intents if candidate is not None), None), False
