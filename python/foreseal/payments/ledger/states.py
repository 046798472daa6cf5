"""States of orders, refunds, payouts and x402 payments, with all their transitions as data.

An order follows the table "Payment authorization" of the specification and uses its state names. The specification
leaves two points open: the state `Expired`, and the reverse transitions after a reorganization. A step refines a state:
the progress of its transaction, and the finality of its effect.

```text
Drafted -> Signed, unused -> Stored, unused --capture--> Used, captured
                                   |  ^-------reopen---------'
   '----------------void-----------'--void--> Voided offchain --cancel--> Canceled
                                                    ^---------reopen---------'
every state except captured and canceled --expire--> Expired

Reserved -> Broadcast -> Complete | Blocked           refunds and payouts
Submitted -> Settled | Released                       x402 payments at the facilitator
Held -> Answered -> Settled                           paid requests at the seller
  '--> Declined '--> Released
Reserved -> Presented -> Spent | Returned             x402 purchases of a buyer
```
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from foreseal.payments.ledger.errors import TransitionNotAllowed


class OrderState(StrEnum):
    """State of an order's authorization."""

    DRAFTED = "Drafted"
    SIGNED = "Signed, unused"
    STORED = "Stored, unused"
    CAPTURED = "Used, captured"
    VOIDED = "Voided offchain"
    CANCELED = "Canceled"
    EXPIRED = "Expired"


class DisbursementState(StrEnum):
    """State of a refund or a payout."""

    RESERVED = "Reserved"
    BROADCAST = "Broadcast"
    COMPLETE = "Complete"
    BLOCKED = "Blocked"


class SettlementState(StrEnum):
    """State of a payment that the facilitator settles."""

    SUBMITTED = "Submitted"
    SETTLED = "Settled"
    RELEASED = "Released"
    """The payment was not charged and never will be."""


class GrantState(StrEnum):
    """State of a paid request at the seller."""

    HELD = "Held"
    """The handler runs, or ended without a response."""
    ANSWERED = "Answered"
    """The handler's response is stored, and is sent once it is paid."""
    SETTLED = "Settled"
    DECLINED = "Declined"
    """The handler returned an error, so nothing is charged."""
    RELEASED = "Released"
    """It is proven that nothing was charged and nothing will be."""


class PurchaseState(StrEnum):
    """State of an x402 purchase. A provisional state relies on the seller's report; a final block may disprove it."""

    RESERVED = "Reserved"
    """The amount counts against the budget. Nothing was signed, or the signature never left the process."""
    PRESENTED = "Presented"
    """The signature may have reached the seller. Until the outcome is known, it may be settled."""
    SPENT = "Spent"
    RETURNED = "Returned"
    """The amount no longer counts against the budget."""


LedgerState = OrderState | DisbursementState | SettlementState | GrantState | PurchaseState
S = TypeVar("S", bound=LedgerState)
S_co = TypeVar("S_co", bound=LedgerState, covariant=True)


class TxStatus(StrEnum):
    """Status of the transaction of a row whose effect is not on the chain."""

    IDLE = "idle"
    """No transaction is under way."""
    INTENDED = "intended"
    """The signed transaction is stored; no answer from the node is recorded."""
    BROADCAST = "broadcast"
    """The node accepted it."""
    UNKNOWN = "unknown"
    """The node did not answer, or its answer left the outcome open. The transaction may still be included."""
    FAILED = "failed"
    """It is final that the transaction had no effect."""


class Finality(StrEnum):
    """Finality of an effect that is on the chain."""

    PROVISIONAL = "provisional"
    """A block includes it, or it is pre-confirmed."""
    CONFIRMED = "confirmed"
    """It satisfies the confirmation policy."""
    FINAL = "final"
    """A final block includes it, so no reorganization can undo it."""


StatusStep = TxStatus | Finality
"""A refinement of a state: the status of its transaction, then the finality of its effect."""

EFFECTED = tuple(Finality)
"""All finalities, in increasing order."""

REVERSIBLE = EFFECTED[:-1]
"""The steps in `EFFECTED` that a reorganization can undo."""

IN_FLIGHT = (TxStatus.INTENDED, TxStatus.BROADCAST, TxStatus.UNKNOWN)
"""Steps of a transaction that is under way."""


class Trigger(StrEnum):
    """An event that changes the state of a row. Databases store the values, so they never change."""

    SET_TERMS = "set terms"
    STORE_SIGNED = "merchant stores signed terms"
    SIGN = "payer signs typed data"
    STORE = "merchant stores payload server-side"
    CAPTURE = "merchant submits receiveWithAuthorization"
    VOID = "merchant marks the order void"
    CANCEL = "payer-signed cancelAuthorization relayed"
    EXPIRE = "validBefore is final and the nonce unused"
    RESERVE = "amount reserved"
    SUBMIT = "merchant submits the transfer"
    BLOCK = "recipient is forbidden"
    SETTLE = "facilitator submits the payment"
    RELEASE = "nothing is charged"
    GRANT = "payment is verified"
    ANSWER = "handler answers"
    DECLINE = "handler answers an error"
    ACCEPTED = "node took the transaction"
    LOST = "node's answer is unknown"
    FAIL = "transaction can no longer have an effect"
    LANDED = "logs show the effect"
    CONFIRM = "policy is met"
    DEMOTE = "policy is no longer met"
    FINALIZE = "block is final"
    REOPEN = "reorganization took the effect back"
    PRESENT = "signature is presented"
    UNSENT = "signature never left"
    PAID = "seller says that it is settled"
    REFUSED = "seller says that it never will be"
    SPENT = "settled in a final block"
    UNSPENT = "a final block rules out that it ever will be"


class LedgerStatus(NamedTuple, Generic[S_co]):
    """A state and the step within it."""

    state: S_co
    step: StatusStep = TxStatus.IDLE

    def __str__(self) -> str:
        return self.state if self.step is TxStatus.IDLE else f"{self.state} ({self.step})"


OrderStatus = LedgerStatus[OrderState]
DisbursementStatus = LedgerStatus[DisbursementState]
SettlementStatus = LedgerStatus[SettlementState]
GrantStatus = LedgerStatus[GrantState]
PurchaseStatus = LedgerStatus[PurchaseState]

Transition = tuple[tuple[LedgerStatus[S] | None, Trigger], LedgerStatus[S]]
"""A status with a trigger, and the status to which it leads."""

Transitions = Mapping[tuple[LedgerStatus[S] | None, Trigger], LedgerStatus[S]]


def _flight(state: S) -> Iterator[Transition[S]]:
    """Yield the transitions of a transaction in flight from a state."""
    for step in (TxStatus.INTENDED, TxStatus.UNKNOWN):
        yield (LedgerStatus(state, step), Trigger.ACCEPTED), LedgerStatus(state, TxStatus.BROADCAST)
    for step in (TxStatus.INTENDED, TxStatus.BROADCAST):
        yield (LedgerStatus(state, step), Trigger.LOST), LedgerStatus(state, TxStatus.UNKNOWN)
    for step in IN_FLIGHT:
        yield (LedgerStatus(state, step), Trigger.FAIL), LedgerStatus(state, TxStatus.FAILED)


def _effect(state: S, back: LedgerStatus[S]) -> Iterator[Transition[S]]:
    """Yield the transitions after a transaction's effect. `back` is the status after a reorganization."""
    provisional, confirmed, final = (
        LedgerStatus(state, step) for step in (Finality.PROVISIONAL, Finality.CONFIRMED, Finality.FINAL)
    )
    yield (provisional, Trigger.CONFIRM), confirmed
    yield (confirmed, Trigger.DEMOTE), provisional
    for status in (provisional, confirmed):
        yield (status, Trigger.FINALIZE), final
        yield (status, Trigger.REOPEN), back


def _order_transitions() -> Iterator[Transition[OrderState]]:
    drafted, signed, stored, voided = (
        OrderStatus(state) for state in (OrderState.DRAFTED, OrderState.SIGNED, OrderState.STORED, OrderState.VOIDED)
    )
    yield (None, Trigger.SET_TERMS), drafted
    # Terms and signature in one request: the three transitions of one that has them one after another.
    yield (None, Trigger.STORE_SIGNED), stored
    yield (drafted, Trigger.SIGN), signed
    # Only for an order without a payer; `Orders.void` checks it.
    yield (drafted, Trigger.VOID), voided
    yield (signed, Trigger.STORE), stored
    for step in (TxStatus.IDLE, TxStatus.FAILED):
        yield (OrderStatus(stored.state, step), Trigger.CAPTURE), OrderStatus(stored.state, TxStatus.INTENDED)
        yield (OrderStatus(stored.state, step), Trigger.VOID), voided
        yield (OrderStatus(voided.state, step), Trigger.CANCEL), OrderStatus(voided.state, TxStatus.INTENDED)
    for state, effect in ((OrderState.STORED, OrderState.CAPTURED), (OrderState.VOIDED, OrderState.CANCELED)):
        yield from _flight(state)
        # Also from idle and failed: the payer, or a database that was lost, may have sent it.
        for step in (TxStatus.IDLE, *IN_FLIGHT, TxStatus.FAILED):
            yield (OrderStatus(state, step), Trigger.LANDED), OrderStatus(effect, Finality.PROVISIONAL)
            yield (OrderStatus(state, step), Trigger.EXPIRE), OrderStatus(OrderState.EXPIRED)
        yield from _effect(effect, OrderStatus(state, TxStatus.UNKNOWN))
    for status in (drafted, signed):
        yield (status, Trigger.EXPIRE), OrderStatus(OrderState.EXPIRED)


def _disbursement_transitions() -> Iterator[Transition[DisbursementState]]:
    reserved, broadcast = DisbursementState.RESERVED, DisbursementState.BROADCAST
    yield (None, Trigger.RESERVE), DisbursementStatus(reserved)
    for step in (TxStatus.IDLE, TxStatus.FAILED):
        yield (DisbursementStatus(reserved, step), Trigger.SUBMIT), DisbursementStatus(reserved, TxStatus.INTENDED)
        yield (DisbursementStatus(reserved, step), Trigger.BLOCK), DisbursementStatus(DisbursementState.BLOCKED)
    for step in (TxStatus.INTENDED, TxStatus.UNKNOWN):
        yield (DisbursementStatus(reserved, step), Trigger.ACCEPTED), DisbursementStatus(broadcast)
    yield (
        (DisbursementStatus(reserved, TxStatus.INTENDED), Trigger.LOST),
        DisbursementStatus(reserved, TxStatus.UNKNOWN),
    )
    unanswered = [DisbursementStatus(reserved, step) for step in (TxStatus.INTENDED, TxStatus.UNKNOWN)]
    for status in (*unanswered, DisbursementStatus(broadcast)):
        yield (status, Trigger.FAIL), DisbursementStatus(reserved, TxStatus.FAILED)
        yield (status, Trigger.LANDED), DisbursementStatus(DisbursementState.COMPLETE, Finality.PROVISIONAL)
    yield from _effect(DisbursementState.COMPLETE, DisbursementStatus(broadcast))


def _settlement_transitions() -> Iterator[Transition[SettlementState]]:
    submitted, settled = SettlementState.SUBMITTED, SettlementState.SETTLED
    yield (None, Trigger.RELEASE), SettlementStatus(SettlementState.RELEASED)
    for status in (None, SettlementStatus(submitted, TxStatus.FAILED)):
        yield (status, Trigger.SETTLE), SettlementStatus(submitted, TxStatus.INTENDED)
    yield from _flight(submitted)
    for step in IN_FLIGHT:
        yield (SettlementStatus(submitted, step), Trigger.LANDED), SettlementStatus(settled, Finality.PROVISIONAL)
    yield from _effect(settled, SettlementStatus(submitted, TxStatus.UNKNOWN))


def _grant_transitions() -> Iterator[Transition[GrantState]]:
    states = (GrantState.HELD, GrantState.DECLINED, GrantState.RELEASED)
    held, declined, released = (GrantStatus(state) for state in states)
    answered, unknown = GrantStatus(GrantState.ANSWERED), GrantStatus(GrantState.ANSWERED, TxStatus.UNKNOWN)
    yield (held, Trigger.ANSWER), answered
    yield (held, Trigger.DECLINE), declined
    yield (answered, Trigger.LOST), unknown
    for status in (answered, unknown):
        yield (status, Trigger.LANDED), GrantStatus(GrantState.SETTLED, Finality.PROVISIONAL)
    yield from _effect(GrantState.SETTLED, unknown)
    for status in (held, answered, unknown, declined):
        yield (status, Trigger.RELEASE), released
    # A released voucher was never charged for its cumulative amount, so the amount may be granted again.
    for before in (None, released):
        yield (before, Trigger.GRANT), held


def _purchase_transitions() -> Iterator[Transition[PurchaseState]]:
    reserved, presented = PurchaseStatus(PurchaseState.RESERVED), PurchaseStatus(PurchaseState.PRESENTED)
    yield (None, Trigger.RESERVE), reserved
    yield (reserved, Trigger.PRESENT), presented
    for status in (reserved, presented):
        yield (status, Trigger.UNSENT), PurchaseStatus(PurchaseState.RETURNED, Finality.FINAL)
    reported = {Trigger.PAID: PurchaseState.SPENT, Trigger.REFUSED: PurchaseState.RETURNED}
    proven = {Trigger.SPENT: PurchaseState.SPENT, Trigger.UNSPENT: PurchaseState.RETURNED}
    for trigger, state in reported.items():
        yield (presented, trigger), PurchaseStatus(state, Finality.PROVISIONAL)
    for status in (presented, *(PurchaseStatus(state, Finality.PROVISIONAL) for state in reported.values())):
        for trigger, state in proven.items():
            yield (status, trigger), PurchaseStatus(state, Finality.FINAL)


ORDER_TRANSITIONS: Transitions[OrderState] = dict(_order_transitions())
"""All transitions of an order. None stands for an order that does not exist yet."""

DISBURSEMENT_TRANSITIONS: Transitions[DisbursementState] = dict(_disbursement_transitions())
"""All transitions of a refund or a payout."""

SETTLEMENT_TRANSITIONS: Transitions[SettlementState] = dict(_settlement_transitions())
"""All transitions of a settlement."""

GRANT_TRANSITIONS: Transitions[GrantState] = dict(_grant_transitions())
"""All transitions of a grant."""

PURCHASE_TRANSITIONS: Transitions[PurchaseState] = dict(_purchase_transitions())
"""All transitions of a purchase."""


def parsed(text: str) -> tuple[str, StatusStep]:
    """Return state and step of a status in text form, as the timeline stores it."""
    state, _, step = text.removesuffix(")").partition(" (")
    step_name = step or TxStatus.IDLE
    return state, Finality(step_name) if step_name in EFFECTED else TxStatus(step_name)


def next_status(transitions: Transitions[S], status: LedgerStatus[S] | None, trigger: Trigger) -> LedgerStatus[S]:
    """Return the status to which a trigger leads. Raises `TransitionNotAllowed` if the table has no such transition."""
    try:
        return transitions[status, trigger]
    except KeyError:
        raise TransitionNotAllowed("(none)" if status is None else str(status), trigger) from None
