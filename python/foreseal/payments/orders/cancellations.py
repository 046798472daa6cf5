"""The payer's signed cancellation of a voided order, relayed to the token."""

from dataclasses import replace

from foreseal.payments.chain import Token
from foreseal.payments.chain.token import cancel_call
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger, OrderStatus, Trigger, locked, read
from foreseal.payments.ledger.models import OrderRecord, Purpose
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.signatures import check_signature, signer_path
from foreseal.payments.transactions import TransactionSender, building_head
from foreseal.payments.typed_data import Cancellation


class NotCancelable(Exception):
    """The authorization expired, was consumed, is a permit, or was never signed. No transaction was signed."""


class Cancellations:
    """Relay for cancelAuthorization (EIP-3009)."""

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        self._ledger = ledger
        self._sender = sender
        self._merchant = merchant
        self._progress = OrderReconciler(ledger, sender, merchant)

    def message(self, id: str) -> Cancellation:
        """Return the message that the payer signs to cancel an order.

        Raises `NotCancelable` if a permit pays the order, or if it has no payer.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, OrderRecord, id)
        return _cancellation(order)

    def cancel(self, id: str, signature: bytes) -> OrderRecord:
        """Relay the payer's cancellation of a voided order before it expires. Return the updated order.

        Raises `NotCancelable`, `InvalidSignature`, `Reverted` (for example, a paused token), `FeeTooHigh` and the
        node's errors, all before anything is stored. Raises `TransitionNotAllowed` and `ConcurrentUpdate` if the state
        of the order forbids it.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, OrderRecord, id)
        next_status(ORDER_TRANSITIONS, OrderStatus(order.state, order.step), Trigger.CANCEL)
        message = _cancellation(order)
        node = self._sender.node
        now = building_head(node).timestamp
        if now >= order.valid_before:
            raise NotCancelable(f"orders: {id} was valid until {order.valid_before}, the block time is {now}")
        path = signer_path(node, message.authorizer)
        check_signature(path, message, self._merchant.domain, message.authorizer, signature)
        if Token(node, order.token).authorization_used(message.authorizer, order.nonce, "pending"):
            self._progress.reconcile(id)
            raise NotCancelable(f"orders: the authorization of {id} was used or canceled")
        sender = self._sender.with_node(path.node)
        call = sender.call(order.token, cancel_call(message, signature), simulated=path.has_code)
        call = replace(call, runs_code=path.has_code)
        with self._ledger.database.transaction() as tx:
            self._ledger.move(tx, OrderRecord, locked(tx, OrderRecord, id), Trigger.CANCEL)
            intent = self._sender.intents.store(tx, Purpose.CANCEL, id, call)
            self._ledger.passed(CrashPoint.CANCEL_DECIDED)
        self._ledger.passed(CrashPoint.CANCEL_STORED)
        return self._progress.deliver(id, intent)


def _cancellation(order: OrderRecord) -> Cancellation:
    if order.checkout is not None:
        raise NotCancelable(f"orders: {order.id} has a permit, which cannot be canceled: void it")
    if order.payer is None:
        raise NotCancelable(f"orders: {order.id} has no payer, so nothing was signed that could be canceled")
    return Cancellation(order.payer, order.nonce)
