"""How orders go on after a decision: what the chain says of their captures and cancellations.

```text
advance: receipts of the stored transaction
  none, and it may land      -> sent once more; what had landed before is reopened
  none, and it never can     -> failed
  logs show the effect       -> captured or canceled: provisional, confirmed, final
  no effect, and final       -> failed; then the logs of (payer, nonce) tell who used the authorization
```

A capture or cancellation that is not this ledger's own is found by the logs of (payer, nonce) in the same way.
"""

from typing import Any

from sqlalchemy import Connection, Row, or_, select

from foreseal.payments.chain import Incomplete, Moving, Receipt
from foreseal.payments.chain.token import canceled, transfers
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.evidence import consumed, is_used
from foreseal.payments.ledger import IN_FLIGHT, REVERSIBLE, Ledger, OrderState, Step, Trigger, locked, read
from foreseal.payments.ledger.tables import Ending, Purpose, orders
from foreseal.payments.ledger.tables import transfers as rows
from foreseal.payments.merchant import Merchant
from foreseal.payments.sending import (
    Outcome,
    Sender,
    advance_each,
    close,
    is_open,
    note_delivery,
    open_intent,
    open_subjects,
    safety,
)
from foreseal.payments.settlement import Seen, forget, record

_SENDING = (OrderState.STORED, OrderState.VOIDED)
_EFFECTED = (OrderState.CAPTURED, OrderState.CANCELED)
_PURPOSES = (Purpose.CAPTURE, Purpose.CANCEL)


class NotExpired(Exception):
    """No final block has reached validBefore, or the authorization was used or canceled before."""


class Progress:
    """Takes orders to where the chain is."""

    def __init__(self, ledger: Ledger, sender: Sender, merchant: Merchant) -> None:
        self._ledger = ledger
        self._sender = sender
        self._merchant = merchant

    def advance(self, id: str) -> Row[Any]:
        """Do whatever an order waits for; the order as it is then. Repeating it is safe, and so is a death within.

        Raises what the node raises, `FinalityBroken`, and `Overtaken` where another process was faster.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, orders, id)
            intents = [open_intent(tx, purpose, id) for purpose in _PURPOSES]
        intent = next((each for each in intents if each is not None), None)
        if intent is not None:
            self._tend(order, intent)
        elif order.step in IN_FLIGHT:
            # What a reorganisation took back was not sent by this ledger, so nothing is under way.
            with self._ledger.database.transaction() as tx:
                order = locked(tx, orders, id)
                if all(open_intent(tx, purpose, id) is None for purpose in _PURPOSES):
                    self._fail(tx, order, "nothing is under way")
        elif order.state in _EFFECTED and order.step is not Step.FINAL:
            self.look(id)
        with self._ledger.database.reading() as tx:
            return read(tx, orders, id)

    def waiting(self, *, watched: bool = False) -> list[str]:
        """Orders that wait for the chain, those whose transactions were signed first at the beginning.

        With `watched` without what is captured and not yet final: a `Watcher` follows that.
        """
        # By state and step, of which there is an index: nearly all orders are done.
        captured = (orders.c.state == OrderState.CAPTURED) & orders.c.step.in_(REVERSIBLE)
        effected = (OrderState.CANCELED,) if watched else _EFFECTED
        waiting = or_(
            orders.c.state.in_(_SENDING) & orders.c.step.in_(IN_FLIGHT),
            orders.c.state.in_(effected) & orders.c.step.in_(REVERSIBLE),
        )
        with self._ledger.database.reading() as tx:
            moving = tx.execute(select(orders.c.id).where(waiting).order_by(orders.c.id)).scalars()
            left_out = select(orders.c.id).where(captured) if watched else None
            return list(dict.fromkeys([*open_subjects(tx, *_PURPOSES, without=left_out), *moving]))

    def resume(self) -> dict[str, Exception]:
        """Advance every order that waits for the chain, as after a start; what went wrong, by order."""
        return advance_each(self.waiting(), self.advance)

    def deliver(self, id: str, intent: int) -> Row[Any]:
        """Send an intent of an order, and note what the node says; the order as it is then."""
        note_delivery(self._ledger, orders, id, self._sender.deliver(intent))
        with self._ledger.database.reading() as tx:
            return read(tx, orders, id)

    def look(self, id: str) -> None:
        """Find out by logs what became of an order's authorization, whoever sent it. Raises what the node raises."""
        with self._ledger.database.reading() as tx:
            order = read(tx, orders, id)
        found = consumed(self._sender.node, order)
        step = (
            None
            if found is None
            else safety(self._sender.node, self._sender.policy, found.block_number, found.block_hash)
        )
        if found is not None and step is None:
            raise Moving(f"transaction {found.transaction_hash} left its block while it was read")
        with self._ledger.database.transaction() as tx:
            order = locked(tx, orders, id)
            if found is None or step is None:
                self._reopen(tx, order)
            elif canceled(found, order.token, order.payer, order.nonce):
                self._canceled(tx, order, found, step)
            else:
                self._captured(tx, order, found, step)

    def expire(self, id: str) -> None:
        """Note that an authorization can never be used any more.

        Raises `NotExpired`, also where it was used or canceled, which is then noted; `NotAllowed`, and what the node
        raises.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, orders, id)
        final = self._sender.node.head("finalized")
        if final is None or final.timestamp < order.valid_before:
            raise NotExpired(f"orders: {id} is valid until {order.valid_before}, which no final block has reached")
        if self._is_used(order, final.number):
            self.look(id)
            raise NotExpired(f"orders: the authorization of {id} was used or canceled")
        with self._ledger.database.transaction() as tx:
            self._ledger.move(tx, orders, locked(tx, orders, id), Trigger.EXPIRE, block=final.hash)
            self._ledger.passed(CrashPoint.EXPIRY_DECIDED)

    def _is_used(self, order: Row[Any], final: int) -> bool:
        """Whether an order's signature is used or canceled as of a final block.

        What is unused in the newest block is so in those before, of which not every node has the state.
        """
        node = self._sender.node
        latest = node.head("latest")
        places = [latest.number, final] if latest is not None and latest.number > final else [final]
        return all(is_used(node, order, place) for place in places)

    def _tend(self, order: Row[Any], intent: int) -> None:
        outcome = self._sender.outcome(intent)
        self._ledger.passed(CrashPoint.RECEIPT_READ)
        if outcome.receipt is not None:
            self._landed(order.id, intent, outcome)
        elif outcome.step is Step.FAILED:
            with self._ledger.database.transaction() as tx:
                order = locked(tx, orders, order.id)
                if is_open(tx, intent):
                    self._fail(tx, order, "its account nonce was used by another transaction")
                    close(tx, intent, Ending.DISPLACED)
        else:
            if order.state in _EFFECTED:
                self.look(order.id)
            self.deliver(order.id, intent)

    def _landed(self, id: str, intent: int, outcome: Outcome) -> None:
        receipt, step = outcome.receipt, outcome.step
        assert receipt is not None
        with self._ledger.database.transaction() as tx:
            order = locked(tx, orders, id)
            if not is_open(tx, intent):  # another process was faster, and may have begun the next one
                return
            if canceled(receipt, order.token, order.payer, order.nonce):
                self._canceled(tx, order, receipt, step)
                nothing = False
            else:
                nothing = not self._captured(tx, order, receipt, step)
            if step is Step.FINAL:
                close(tx, intent, Ending.FINAL)
                if nothing and receipt.succeeded:
                    raise Incomplete(f"{receipt.transaction_hash} succeeded, and its receipt lacks the token's logs")
                if nothing:
                    self._fail(tx, locked(tx, orders, id), "it was reverted", transaction=receipt.transaction_hash)
            self._ledger.passed(CrashPoint.RECEIPT_APPLIED)
        self._ledger.passed(CrashPoint.RECEIPT_STORED)
        if nothing and (step is Step.FINAL or order.state in _EFFECTED):
            self.look(id)

    def _captured(self, tx: Connection, order: Row[Any], receipt: Receipt, step: Step) -> bool:
        """Record what a receipt brought to the merchant by this authorization; whether it brought anything."""
        found = [
            each
            for each in transfers(receipt, order.token)
            if (each.sender, each.recipient, each.nonce, each.checkout)
            == (order.payer, order.payee, order.nonce, order.checkout)
        ]
        for each in found:
            record(self._ledger, tx, Seen(order.chain_id, each, step))
        return bool(found)

    def _canceled(self, tx: Connection, order: Row[Any], receipt: Receipt, step: Step) -> None:
        """Note that the authorization of an order was canceled on the chain.

        A stored order whose payer did that by themselves is voided with it, once nothing can take it back.
        """
        details = {"transaction": receipt.transaction_hash, "block": receipt.block_hash}
        if order.state is OrderState.CAPTURED:
            self._reopen(tx, order)
            return
        if step is Step.FINAL and self._ledger.allows(orders, order, Trigger.VOID):
            order = self._ledger.move(tx, orders, order, Trigger.VOID, reason="the payer canceled", **details)
        if order.state is OrderState.VOIDED:
            order = self._ledger.move(tx, orders, order, Trigger.LANDED, **details)
        if order.state is OrderState.CANCELED:
            self._ledger.follow(tx, orders, order, step, **details)

    def _reopen(self, tx: Connection, order: Row[Any]) -> None:
        """Take back what the chain no longer has of an order."""
        if order.state is OrderState.CAPTURED:
            forget(self._ledger, tx, tx.execute(select(rows).where(rows.c.order_id == order.id)).one())
        elif order.state is OrderState.CANCELED:
            self._ledger.move(tx, orders, order, Trigger.REOPEN)

    def _fail(self, tx: Connection, order: Row[Any], reason: str, **details: Any) -> None:
        if self._ledger.allows(orders, order, Trigger.FAIL):
            self._ledger.move(tx, orders, order, Trigger.FAIL, reason=reason, **details)
