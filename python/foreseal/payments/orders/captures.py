"""Captures: the checks before a capture, and the decision that excludes a void."""

from enum import StrEnum

from sqlalchemy import update

from foreseal.payments.amounts import check_amount
from foreseal.payments.chain import Reverted, Token, TransferParties, find_forbidden_account
from foreseal.payments.chain.checkout import capture_call
from foreseal.payments.chain.token import receive_call, separator
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger, OrderStatus, Trigger, locked, read
from foreseal.payments.ledger.models import OrderRecord, Purpose
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import authorization, message, permit, stored_signature
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.signatures import check_signature
from foreseal.payments.transactions import TransactionSender, WrongChain, building_head
from foreseal.payments.transfers.authorization_logs import is_used


class CaptureObstacle(StrEnum):
    """Reason why a capture would fail now."""

    DOMAIN = "domain_mismatch"
    EARLY = "not_yet_valid"
    LATE = "too_late"
    USED = "authorization_used"
    BALANCE = "insufficient_balance"
    PAUSED = "token_paused"
    FORBIDDEN = "account_forbidden"
    REVERTS = "would_revert"

    @property
    def message(self) -> str:
        """A description for people."""
        return _MESSAGES[self]


_MESSAGES = {
    CaptureObstacle.DOMAIN: "the token's domain, or the order's token or payee, is not the configured one",
    CaptureObstacle.EARLY: "not yet valid",
    CaptureObstacle.LATE: "too close to validBefore, or past it",
    CaptureObstacle.USED: "used or canceled",
    CaptureObstacle.BALANCE: "payer's balance is too low",
    CaptureObstacle.PAUSED: "token is paused",
    CaptureObstacle.FORBIDDEN: "payer, payee or checkout is forbidden",
    CaptureObstacle.REVERTS: "would revert",
}


class NotCapturable(Exception):
    """The capture was rejected before signing; the order is unchanged."""

    def __init__(self, id: str, obstacle: CaptureObstacle, detail: str = "") -> None:
        super().__init__(id, obstacle, detail)
        self.id = id
        self.obstacle = obstacle
        self.detail = detail

    def __str__(self) -> str:
        return f"orders: {self.id} cannot be captured: {self.obstacle.message}" + (
            f": {self.detail}" if self.detail else ""
        )


class Captures:
    """Captures of stored orders: by receiveWithAuthorization (EIP-3009), or by the payee's checkout and a permit."""

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        if sender.account.address != merchant.payee:
            raise ValueError(f"payee: {merchant.payee} is not the key's account {sender.account.address}")
        self._ledger = ledger
        self._sender = sender
        self._merchant = merchant
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
        captured_amount = _capture_amount(order, amount)
        self._check(order, captured_amount)
        try:
            call = self._sender.call(*build_capture_call(order, captured_amount))
        except Reverted as error:
            raise NotCapturable(id, CaptureObstacle.REVERTS, error.reason) from error
        self._ledger.passed(CrashPoint.CAPTURE_CHECKED)
        with self._ledger.database.transaction() as tx:
            details = {} if order.checkout is None else {"amount": str(captured_amount), "checkout": order.checkout}
            self._ledger.move(tx, OrderRecord, locked(tx, OrderRecord, id), Trigger.CAPTURE, **details)
            if order.checkout is not None:
                tx.execute(
                    update(OrderRecord).where(OrderRecord.id == id).values({OrderRecord.actual: captured_amount})
                )
            intent = self._sender.intents.store(tx, Purpose.CAPTURE, id, call)
            self._ledger.passed(CrashPoint.CAPTURE_DECIDED)
        self._ledger.passed(CrashPoint.CAPTURE_STORED)
        return self._progress.deliver(id, intent)

    def _check(self, order: OrderRecord, amount: int) -> None:
        """Check all that can prevent a capture, at `pending`.

        No check reserves money; only a receipt proves payment.
        """
        node, domain = self._sender.node, self._merchant.domain
        found = node.chain_id()
        if found != domain.chain_id:
            raise WrongChain(f"the node has chain id {found}, configured is {domain.chain_id}")
        token = Token(node, domain.contract)
        pinned = (domain.chain_id, domain.contract, self._merchant.payee)
        if (order.chain_id, order.token, order.payee) != pinned:
            raise NotCapturable(order.id, CaptureObstacle.DOMAIN)
        if order.checkout not in (None, self._merchant.checkout):
            raise NotCapturable(order.id, CaptureObstacle.DOMAIN)
        if token.domain_separator("pending") != separator(domain):
            raise NotCapturable(order.id, CaptureObstacle.DOMAIN)
        now = building_head(node).timestamp
        if now <= order.valid_after:
            raise NotCapturable(
                order.id, CaptureObstacle.EARLY, f"valid after {order.valid_after}, the block time is {now}"
            )
        if now >= order.valid_before - self._merchant.margin:
            raise NotCapturable(
                order.id, CaptureObstacle.LATE, f"valid before {order.valid_before}, the block time is {now}"
            )
        check_signature(node, message(order), domain, order.payer, stored_signature(order))
        if is_used(node, order, "pending"):
            self._progress.reconcile(order.id)
            raise NotCapturable(order.id, CaptureObstacle.USED)
        if token.paused("pending"):
            raise NotCapturable(order.id, CaptureObstacle.PAUSED)
        holder = find_forbidden_account(token, capture_parties(order), "pending")
        if holder is not None:
            raise NotCapturable(order.id, CaptureObstacle.FORBIDDEN, holder)
        balance = token.balance(order.payer, "pending")
        if balance < amount:
            raise NotCapturable(order.id, CaptureObstacle.BALANCE, f"{balance} of {amount} units")


def _capture_amount(order: OrderRecord, amount: int | None) -> int:
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


def capture_parties(order: OrderRecord) -> TransferParties:
    """Return the accounts that a capture involves."""
    return TransferParties(order.payer, [order.payee], order.checkout or order.payee)


def build_capture_call(order: OrderRecord, amount: int | None) -> tuple[str, bytes]:
    """Return contract and call data of a capture. `amount`, in smallest units, applies to orders with a permit."""
    if order.checkout is None:
        return order.token, receive_call(authorization(order), stored_signature(order))
    return order.checkout, capture_call(order.nonce, amount or 0, permit(order), stored_signature(order))
