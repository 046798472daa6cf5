"""Capture: what is checked before, and the decision that excludes a void."""

from enum import StrEnum
from typing import Any

from sqlalchemy import Row

from foreseal.payments.chain import Reverted, Token
from foreseal.payments.chain.token import receive_call, separator
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger, Place, Trigger, locked, read
from foreseal.payments.ledger.states import ORDER, following
from foreseal.payments.ledger.tables import Purpose, orders
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders import authorization
from foreseal.payments.progress import Progress
from foreseal.payments.sending import Sender, WrongChain, building
from foreseal.payments.signatures import check


class Obstacle(StrEnum):
    """Why a capture would not work now."""

    DOMAIN = "the token's domain, or the order's token or payee, is not the configured one"
    EARLY = "not yet valid"
    LATE = "too close to validBefore, or past it"
    USED = "used or canceled"
    BALANCE = "payer's balance is too low"
    PAUSED = "token is paused"
    FORBIDDEN = "payer or payee is forbidden"
    REVERTS = "would revert"


class NotCapturable(Exception):
    """Nothing was signed, and the order is as it was."""

    def __init__(self, id: str, obstacle: Obstacle, detail: str = "") -> None:
        super().__init__(id, obstacle, detail)
        self.id = id
        self.obstacle = obstacle
        self.detail = detail

    def __str__(self) -> str:
        return f"orders: {self.id} cannot be captured: {self.obstacle}" + (f": {self.detail}" if self.detail else "")


class Captures:
    """Captures stored orders by receiveWithAuthorization (EIP-3009), sent by the payee."""

    def __init__(self, ledger: Ledger, sender: Sender, merchant: Merchant) -> None:
        if sender.account.address != merchant.payee:
            raise ValueError(f"payee: {merchant.payee} is not the key's account {sender.account.address}")
        self._ledger = ledger
        self._sender = sender
        self._merchant = merchant
        self._progress = Progress(ledger, sender, merchant)

    def capture(self, id: str) -> Row[Any]:
        """Decide to capture a stored order, and send it; the order as it is then.

        Only a receipt's logs make it captured: `Progress.advance` looks for them. Raises `NotCapturable`,
        `WrongSignature`, `WrongChain`, `FeeTooHigh`, and what the node raises, all before anything is stored;
        `NotAllowed` and `Overtaken` if the order is void, or its capture decided already.
        """
        with self._ledger.database.reading() as tx:
            order = read(tx, orders, id)
        following(ORDER, Place(order.state, order.step), Trigger.CAPTURE)
        self._check(order)
        data = receive_call(authorization(order), order.signature)
        try:
            call = self._sender.call(order.token, data)
        except Reverted as error:
            raise NotCapturable(id, Obstacle.REVERTS, error.reason) from error
        self._ledger.passed(CrashPoint.CAPTURE_CHECKED)
        with self._ledger.database.transaction() as tx:
            self._ledger.move(tx, orders, locked(tx, orders, id), Trigger.CAPTURE)
            intent = self._sender.intents.store(tx, Purpose.CAPTURE, id, call)
            self._ledger.passed(CrashPoint.CAPTURE_DECIDED)
        self._ledger.passed(CrashPoint.CAPTURE_STORED)
        return self._progress.deliver(id, intent)

    def _check(self, order: Row[Any]) -> None:
        """All that is known to prevent a capture, as of `pending`. None of it reserves money: only a receipt does."""
        node, domain = self._sender.node, self._merchant.domain
        found = node.chain_id()
        if found != domain.chain_id:
            raise WrongChain(f"the node is of chain {found}, configured is {domain.chain_id}")
        token = Token(node, domain.contract)
        pinned = (domain.chain_id, domain.contract, self._merchant.payee)
        if (order.chain_id, order.token, order.payee) != pinned:
            raise NotCapturable(order.id, Obstacle.DOMAIN)
        if token.domain_separator("pending") != separator(domain):
            raise NotCapturable(order.id, Obstacle.DOMAIN)
        now = building(node).timestamp
        if now <= order.valid_after:
            raise NotCapturable(order.id, Obstacle.EARLY, f"from {order.valid_after}, the block has {now}")
        if now >= order.valid_before - self._merchant.margin:
            raise NotCapturable(order.id, Obstacle.LATE, f"until {order.valid_before}, the block has {now}")
        check(node, authorization(order), domain, order.payer, order.signature)
        if token.authorization_used(order.payer, order.nonce, "pending"):
            self._progress.look(order.id)
            raise NotCapturable(order.id, Obstacle.USED)
        if token.paused("pending"):
            raise NotCapturable(order.id, Obstacle.PAUSED)
        for holder in (order.payer, order.payee):
            if token.blacklisted(holder, "pending"):
                raise NotCapturable(order.id, Obstacle.FORBIDDEN, holder)
        balance = token.balance(order.payer, "pending")
        if balance < order.amount:
            raise NotCapturable(order.id, Obstacle.BALANCE, f"{balance} of {order.amount} units")
