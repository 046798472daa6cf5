"""Scenes of the demo: they reach every state of the specification, and check that other transitions are rejected."""

import secrets
from collections.abc import Callable
from contextlib import suppress

from foreseal.payments.chain import Reverted
from foreseal.payments.chain.token import receive_call
from foreseal.payments.demo.environment import DemoEnvironment
from foreseal.payments.demo.shop.products import shown_price
from foreseal.payments.ledger import (
    DisbursementState,
    Finality,
    InsufficientAmount,
    OrderState,
    StatusStep,
    TransitionNotAllowed,
    TxStatus,
)
from foreseal.payments.orders.capture_checks import NotCapturable
from foreseal.payments.orders.terms import OrderTerms, PermitTerms, authorization, message, stored_signature
from foreseal.payments.transfers.balance import balance
from foreseal.payments.typed_data import random_nonce

HOUR = 3_600
AMOUNT, MAXIMUM, ACTUAL = 25_000_000, 30_000_000, 12_340_000
REFUNDS = (10_000_000, 5_000_000)
BLOCKS = 12

# Allowed actions by state, from the specification's table "Payment authorization".
ALLOWED: dict[OrderState, set[str]] = {
    OrderState.DRAFTED: {"sign"},
    OrderState.SIGNED: {"store"},
    OrderState.STORED: {"capture", "void"},
    OrderState.VOIDED: {"cancel"},
    OrderState.CAPTURED: set(),
    OrderState.CANCELED: set(),
    OrderState.EXPIRED: set(),
}


class Surprise(Exception):
    """A state differs from the expected one; the demo ends."""


class DemoPlayer:
    """Player of the scenes; it reports each state as the order reaches it."""

    def __init__(self, stage: DemoEnvironment, report: Callable[[str], None]) -> None:
        self.stage = stage
        self.report = report
        self.name = secrets.token_hex(3)
        """Prefix of this run's order ids, so that several runs on one chain do not collide."""
        self.reached: list[tuple[str, OrderState, StatusStep]] = []
        """Orders with their states and steps, in the order they were reached."""
        self.refused = 0
        """Number of forbidden transitions that were tried and rejected."""
        self.blocks = 0
        """Number of blocks until confirmation, including the order's own block."""

    def play(self) -> None:
        """Play all scenes. Raises `Surprise` and the stage's errors."""
        for scene in (self.capture, self.capture_less, self.void_and_cancel, self.expire):
            self.report("")
            scene()
        self._sum_up()

    def capture(self) -> None:
        """Capture an order until it is pre-confirmed, confirmed and final; then refund it in parts."""
        self.report("A capture, and refunds in parts")
        id = self._stored("order", AMOUNT)
        self.stage.captures.capture(id)
        self._captured(id)
        self._confirmed(id)
        self.stage.finalize()
        self._advance(id, OrderState.CAPTURED, Finality.FINAL)
        for number, amount in enumerate(REFUNDS):
            self._refund(f"{self.name}-refund-{number + 1}", id, amount)
        try:
            self.stage.refunds.refund(f"{self.name}-refund-3", id, AMOUNT)
        except InsufficientAmount as error:
            self.report(f"  rejected: {error}")
        else:
            raise Surprise("more was refunded than captured")

    def capture_less(self) -> None:
        """Capture less than the maximum of a permit."""
        self.report("A permit with a maximum, captured for the final amount")
        id, stage = f"{self.name}-maximum", self.stage
        deadline = stage.now() + HOUR
        to_sign = stage.orders.draft_permit(id, PermitTerms(stage.buyer.address, MAXIMUM, deadline, random_nonce()))
        self._reach(id, OrderState.DRAFTED, detail=f"at most {shown_price(MAXIMUM)}")
        stage.orders.sign(id, stage.signed(to_sign))
        self._reach(id, OrderState.SIGNED)
        stage.orders.store(id)
        self._reach(id, OrderState.STORED)
        stage.captures.capture(id, ACTUAL)
        self._captured(id, f"{shown_price(ACTUAL)}, ")

    def void_and_cancel(self) -> None:
        """Void an order, let the payer cancel it, and check that a capture afterwards reverts."""
        self.report("A void, the payer's cancellation, and a late capture")
        id, stage = self._stored("void", AMOUNT), self.stage
        stage.orders.void(id, "out of stock")
        self._reach(id, OrderState.VOIDED, detail="the merchant's decision; nothing happened on the chain")
        stage.cancellations.cancel(id, self._cancellation(id))
        stage.until(lambda: stage.progress.advance(id).state is OrderState.CANCELED, "the cancellation")
        self._reach(id, OrderState.CANCELED, Finality.PROVISIONAL)
        self._late(id, "authorization is used or canceled")
        stage.finalize()
        self._advance(id, OrderState.CANCELED, Finality.FINAL)

    def expire(self) -> None:
        """Let an unused authorization expire."""
        self.report("An authorization that expires")
        id, stage = self._stored("late", AMOUNT), self.stage
        stage.pass_time(2 * HOUR)
        stage.mine()
        try:
            stage.captures.capture(id)
        except NotCapturable as error:
            self.report(f"  rejected: {error.obstacle.message}")
        else:
            raise Surprise("an expired authorization was captured")
        self._late(id, "authorization is expired")
        stage.finalize()
        stage.progress.expire(id)
        self._reach(id, OrderState.EXPIRED, detail="a block after its expiry is final, and its nonce is unused")

    def _stored(self, name: str, amount: int) -> str:
        """Create an order with a stored authorization, and report each state up to there."""
        id, stage = f"{self.name}-{name}", self.stage
        now = stage.now()
        terms = OrderTerms(stage.buyer.address, amount, now - 1, now + HOUR, random_nonce())
        to_sign = stage.orders.draft(id, terms)
        self._reach(id, OrderState.DRAFTED, detail=f"{shown_price(amount)} from {stage.buyer.address}, for an hour")
        stage.orders.sign(id, stage.signed(to_sign))
        self._reach(id, OrderState.SIGNED, detail="by the buyer; no transaction, no money moved")
        stage.orders.store(id)
        self._reach(id, OrderState.STORED, detail="nothing is reserved")
        return id

    def _captured(self, id: str, more: str = "") -> None:
        """Wait until the node shows a capture, and report the delay."""
        stage = self.stage
        stage.until(lambda: stage.progress.advance(id).state is OrderState.CAPTURED, "the capture")
        delay, sealed = stage.seconds() - stage.sent_at, stage.number("latest")
        shown = f"{more}{delay * 1000:.0f} ms after the submission, while block {sealed} is the newest sealed one"
        self._reach(id, OrderState.CAPTURED, Finality.PROVISIONAL, shown)

    def _confirmed(self, id: str) -> None:
        stage = self.stage
        while stage.progress.advance(id).step is Finality.PROVISIONAL:
            stage.mine()
            self.blocks += 1
            if self.blocks > 2 * BLOCKS:
                raise Surprise(f"{id} is not confirmed after {self.blocks} blocks")
        self._reach(id, OrderState.CAPTURED, Finality.CONFIRMED, f"{self.blocks} blocks")

    def _refund(self, id: str, order: str, amount: int) -> None:
        stage = self.stage
        stage.refunds.refund(id, order, amount)
        stage.until(lambda: stage.refunds.advance(id).state is DisbursementState.COMPLETE, "the refund")
        left = shown_price(stage.refunds.refundable(order))
        self.report(f"  {id:<16} {'Complete':<30} {shown_price(amount)} returned to the payer; {left} remain")

    def _late(self, id: str, reason: str) -> None:
        """Check that a capture sent directly to the token, bypassing the ledger, reverts."""
        stage, order = self.stage, self.stage.orders.get(id)
        data = receive_call(authorization(order), stored_signature(order))
        try:
            stage.node.estimate_gas(stage.key.address, order.token, data, "pending")
        except Reverted as error:
            self.report(f"  reverts: {error.reason}")
            if not error.reason.endswith(reason):
                raise Surprise(f"a late capture reverts with {error.reason!r}") from error
        else:
            raise Surprise("a late capture does not revert")

    def _advance(self, id: str, state: OrderState, step: StatusStep) -> None:
        self.stage.progress.advance(id)
        self._reach(id, state, step)

    def _reach(self, id: str, state: OrderState, step: StatusStep = TxStatus.IDLE, detail: str = "") -> None:
        """Report the state of an order, check that forbidden actions are rejected, and that the state is unchanged."""
        self._expect(id, state, step)
        self.reached.append((id, state, step))
        status = state.value + ("" if step is TxStatus.IDLE else f" ({step})")
        self.report(f"  {id:<16} {status:<30} {detail}".rstrip())
        for name, act in self._acts(id).items():
            if name not in ALLOWED[state]:
                self._refuse(name, act)
        self._expect(id, state, step)

    def _expect(self, id: str, state: OrderState, step: StatusStep) -> None:
        order = self.stage.orders.get(id)
        if (order.state, order.step) != (state, step):
            raise Surprise(f"{id} is {order.state} ({order.step}), not {state} ({step})")

    def _refuse(self, name: str, act: Callable[[], object]) -> None:
        with suppress(TransitionNotAllowed):
            act()
            raise Surprise(f"{name} was not rejected")
        self.refused += 1

    def _acts(self, id: str) -> dict[str, Callable[[], object]]:
        """Return every action of the merchant on an order."""
        stage, order = self.stage, self.stage.orders.get(id)
        acts: dict[str, Callable[[], object]] = {
            "sign": lambda: stage.orders.sign(id, stage.signed(message(order))),
            "store": lambda: stage.orders.store(id),
            "capture": lambda: stage.captures.capture(id, order.amount),
            "void": lambda: stage.orders.void(id),
        }
        if order.checkout is None:
            acts["cancel"] = lambda: stage.cancellations.cancel(id, self._cancellation(id))
        return acts

    def _cancellation(self, id: str) -> bytes:
        return self.stage.signed(self.stage.cancellations.message(id))

    def _sum_up(self) -> None:
        self.stage.watcher.poll()
        with self.stage.ledger.database.reading() as tx:
            ledger_balance = balance(tx)
        if ledger_balance.faults:
            raise Surprise("; ".join(fault.message for fault in ledger_balance.faults))
        sums = ledger_balance.total()
        reached = len({state for _, state, _ in self.reached})
        captured, refunded, unmatched = map(shown_price, (sums.captured, sums.refunded, sums.unmatched))
        self.report("")
        self.report(f"{reached} of {len(OrderState)} states reached, {self.refused} forbidden transitions rejected")
        self.report(f"The books balance: {captured} captured, {refunded} refunded, {unmatched} unmatched")
