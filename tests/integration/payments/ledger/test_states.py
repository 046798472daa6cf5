"""The transitions, compared with the specification's table."""

import pytest
from sqlalchemy import insert

from foreseal.payments.ledger import (
    DisbursementState,
    Finality,
    OrderState,
    OrderStatus,
    TransitionNotAllowed,
    Trigger,
    TxStatus,
    locked,
    read,
)
from foreseal.payments.ledger.models import OrderRecord, RefundRecord
from foreseal.payments.ledger.record import StatefulRecord
from foreseal.payments.ledger.states import (
    DISBURSEMENT_TRANSITIONS,
    GRANT_TRANSITIONS,
    ORDER_TRANSITIONS,
    PURCHASE_TRANSITIONS,
    SETTLEMENT_TRANSITIONS,
    LedgerState,
    next_status,
)
from payments.shop import Shop

STEPS = (*TxStatus, *Finality)

# State, trigger and next state, from the specification; below, the rows that it leaves open.
SPECIFIED = {
    (None, "set terms", "Drafted"),
    ("Drafted", "payer signs typed data", "Signed, unused"),
    ("Signed, unused", "merchant stores payload server-side", "Stored, unused"),
    ("Stored, unused", "merchant submits receiveWithAuthorization", "Used, captured"),
    ("Stored, unused", "merchant marks the order void", "Voided offchain"),
    ("Voided offchain", "payer-signed cancelAuthorization relayed", "Canceled"),
}
FILLED_IN = {
    # The first three in one request.
    (None, "merchant stores signed terms", "Stored, unused"),
    # Only without a payer: nothing was signed.
    ("Drafted", "merchant marks the order void", "Voided offchain"),
    *((state, "expire", "Expired") for state in ("Drafted", "Signed, unused", "Stored, unused", "Voided offchain")),
    ("Used, captured", "reopen", "Stored, unused"),
    ("Canceled", "reopen", "Voided offchain"),
}
# OrderReconciler of a transaction within a state, until its logs prove the next state.
FLIGHT = {
    ("intended", "accepted", "broadcast"),
    ("unknown", "accepted", "broadcast"),
    ("intended", "lost", "unknown"),
    ("broadcast", "lost", "unknown"),
    ("intended", "fail", "failed"),
    ("broadcast", "fail", "failed"),
    ("unknown", "fail", "failed"),
}
SAFETY = {
    ("provisional", "confirm", "confirmed"),
    ("confirmed", "demote", "provisional"),
    ("provisional", "finalize", "final"),
    ("confirmed", "finalize", "final"),
}
BEGUN = {"Stored, unused": "capture", "Voided offchain": "cancel"}
ENDED = {"Used, captured", "Canceled"}
ALL_STEPS = ("idle", "intended", "broadcast", "unknown", "failed")

Row = tuple[str | None, str, str, str, str]


def expected_of_orders() -> set[Row]:
    """Return all allowed rows: state, step, trigger's name, next state and step."""
    rows: set[Row] = {
        (None, "", "set_terms", "Drafted", "idle"),
        (None, "", "store_signed", "Stored, unused", "idle"),
        ("Drafted", "idle", "sign", "Signed, unused", "idle"),
        ("Signed, unused", "idle", "store", "Stored, unused", "idle"),
        ("Drafted", "idle", "expire", "Expired", "idle"),
        ("Drafted", "idle", "void", "Voided offchain", "idle"),
        ("Signed, unused", "idle", "expire", "Expired", "idle"),
    }
    for state, begin in BEGUN.items():
        rows |= {(state, step, begin, state, "intended") for step in ("idle", "failed")}
        rows |= {(state, step, trigger, state, after) for step, trigger, after in FLIGHT}
        rows |= {(state, step, "expire", "Expired", "idle") for step in ALL_STEPS}
    rows |= {("Stored, unused", step, "void", "Voided offchain", "idle") for step in ("idle", "failed")}
    for before, after in (("Stored, unused", "Used, captured"), ("Voided offchain", "Canceled")):
        rows |= {(before, step, "landed", after, "provisional") for step in ALL_STEPS}
        rows |= {(after, step, "reopen", before, "unknown") for step in ("provisional", "confirmed")}
        rows |= {(after, step, trigger, after, deeper) for step, trigger, deeper in SAFETY}
    return rows


def expected_of_disbursements() -> set[Row]:
    rows: set[Row] = {
        (None, "", "reserve", "Reserved", "idle"),
        ("Reserved", "intended", "accepted", "Broadcast", "idle"),
        ("Reserved", "unknown", "accepted", "Broadcast", "idle"),
        ("Reserved", "intended", "lost", "Reserved", "unknown"),
    }
    for state, step in (("Reserved", "intended"), ("Reserved", "unknown"), ("Broadcast", "idle")):
        rows |= {(state, step, "fail", "Reserved", "failed"), (state, step, "landed", "Complete", "provisional")}
    for step in ("idle", "failed"):
        rows |= {("Reserved", step, "submit", "Reserved", "intended"), ("Reserved", step, "block", "Blocked", "idle")}
    rows |= {("Complete", step, trigger, "Complete", deeper) for step, trigger, deeper in SAFETY}
    return rows | {("Complete", step, "reopen", "Broadcast", "idle") for step in ("provisional", "confirmed")}


def expected_of_settlements() -> set[Row]:
    rows: set[Row] = {
        (None, "", "release", "Released", "idle"),
        (None, "", "settle", "Submitted", "intended"),
        ("Submitted", "failed", "settle", "Submitted", "intended"),
    }
    rows |= {("Submitted", step, trigger, "Submitted", after) for step, trigger, after in FLIGHT}
    rows |= {("Submitted", step, "landed", "Settled", "provisional") for step in ("intended", "broadcast", "unknown")}
    rows |= {("Settled", step, trigger, "Settled", deeper) for step, trigger, deeper in SAFETY}
    return rows | {("Settled", step, "reopen", "Submitted", "unknown") for step in ("provisional", "confirmed")}


def expected_of_grants() -> set[Row]:
    rows: set[Row] = {
        (None, "", "grant", "Held", "idle"),
        ("Released", "idle", "grant", "Held", "idle"),
        ("Held", "idle", "answer", "Answered", "idle"),
        ("Held", "idle", "decline", "Declined", "idle"),
        ("Held", "idle", "release", "Released", "idle"),
        ("Declined", "idle", "release", "Released", "idle"),
        ("Answered", "idle", "lost", "Answered", "unknown"),
    }
    for step in ("idle", "unknown"):
        rows |= {
            ("Answered", step, "landed", "Settled", "provisional"),
            ("Answered", step, "release", "Released", "idle"),
        }
    rows |= {("Settled", step, trigger, "Settled", deeper) for step, trigger, deeper in SAFETY}
    return rows | {("Settled", step, "reopen", "Answered", "unknown") for step in ("provisional", "confirmed")}


def expected_of_purchases() -> set[Row]:
    rows: set[Row] = {
        (None, "", "reserve", "Reserved", "idle"),
        ("Reserved", "idle", "present", "Presented", "idle"),
        ("Reserved", "idle", "unsent", "Returned", "final"),
        ("Presented", "idle", "unsent", "Returned", "final"),
        ("Presented", "idle", "paid", "Spent", "provisional"),
        ("Presented", "idle", "refused", "Returned", "provisional"),
    }
    for state, step in (("Presented", "idle"), ("Spent", "provisional"), ("Returned", "provisional")):
        rows |= {(state, step, "spent", "Spent", "final"), (state, step, "unspent", "Returned", "final")}
    return rows


each = pytest.mark.parametrize(
    ("transitions", "expected"),
    [
        (ORDER_TRANSITIONS, expected_of_orders()),
        (DISBURSEMENT_TRANSITIONS, expected_of_disbursements()),
        (SETTLEMENT_TRANSITIONS, expected_of_settlements()),
        (GRANT_TRANSITIONS, expected_of_grants()),
        (PURCHASE_TRANSITIONS, expected_of_purchases()),
    ],
    ids=["orders", "disbursements", "settlements", "grants", "purchases"],
)


@each
def test_transitions_equal_the_specified_table(transitions: dict[object, object], expected: set[Row]) -> None:
    rows = {
        (
            *((None, "") if before is None else (before.state.value, before.step.value)),
            trigger.name.lower(),
            after.state.value,
            after.step.value,
        )
        for (before, trigger), after in transitions.items()  # type: ignore[attr-defined]
    }
    assert rows == expected


def test_states_and_triggers_match_the_specification() -> None:
    begun = {Trigger.CAPTURE: OrderState.CAPTURED, Trigger.CANCEL: OrderState.CANCELED}
    transitions = set()
    for (before, trigger), after in ORDER_TRANSITIONS.items():
        state = None if before is None else before.state
        if trigger in begun:
            transitions.add((state, trigger.value, begun[trigger].value))
        elif state != after.state and trigger is not Trigger.LANDED:
            name = trigger.name.lower() if trigger in (Trigger.EXPIRE, Trigger.REOPEN) else trigger.value
            transitions.add((state, name, after.state.value))
    assert transitions == SPECIFIED | FILLED_IN


@pytest.mark.parametrize(
    ("model", "states"), [(OrderRecord, OrderState), (RefundRecord, DisbursementState)], ids=["orders", "refunds"]
)
def test_transitions_outside_the_table_are_rejected(
    shop: Shop, model: type[StatefulRecord], states: type[LedgerState]
) -> None:
    transitions = ORDER_TRANSITIONS if model is OrderRecord else DISBURSEMENT_TRANSITIONS
    refused = 0
    with shop.database.transaction() as tx:
        if model is RefundRecord:
            _insert(shop, tx, OrderRecord, "o", OrderStatus(OrderState.CAPTURED, Finality.FINAL))
        for number, place in enumerate(OrderStatus(state, step) for state in states for step in STEPS):
            id = f"{model.__tablename__} {number}"
            _insert(shop, tx, model, id, place)
            row = locked(tx, model, id)
            for trigger in Trigger:
                if (place, trigger) in transitions:
                    continue
                with pytest.raises(TransitionNotAllowed) as error:
                    shop.ledger.move(tx, model, row, trigger)
                assert str(place) in str(error.value)
                assert trigger.value in str(error.value)
                refused += 1
            assert read(tx, model, id) == row
    allowed = sum(before is not None for before, _ in transitions)
    assert refused == len(states) * len(STEPS) * len(Trigger) - allowed
    with pytest.raises(TransitionNotAllowed, match=r"^\(none\): payer signs"):
        next_status(transitions, None, Trigger.SIGN)


def _insert(shop: Shop, tx: object, model: type[StatefulRecord], id: str, place: OrderStatus) -> None:
    values: dict[str, object] = {"id": id, "chain_id": 1, "token": "0x", "amount": 1}
    if model is OrderRecord:
        values |= {"payer": "0x", "payee": "0x", "valid_after": 0, "valid_before": 1, "nonce": b"", "since_block": 0}
        values |= {"memo": id.encode(), "created": 0}
    else:
        values |= {"order_id": "o", "recipient": "0x"}
    tx.execute(insert(model).values(**values, state=place.state, step=place.step))  # type: ignore[attr-defined]


def test_each_transition_is_in_the_timeline(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    for blocks in (1, 11, shop.chain.finality):
        shop.chain.mine(blocks)
        shop.go_on()
    told = [(entry.before, entry.trigger, entry.after) for entry in shop.orders.timeline("a")]
    assert told == [
        (None, Trigger.SET_TERMS, "Drafted"),
        ("Drafted", Trigger.SIGN, "Signed, unused"),
        ("Signed, unused", Trigger.STORE, "Stored, unused"),
        ("Stored, unused", Trigger.CAPTURE, "Stored, unused (intended)"),
        ("Stored, unused (intended)", Trigger.ACCEPTED, "Stored, unused (broadcast)"),
        ("Stored, unused (broadcast)", Trigger.LANDED, "Used, captured (provisional)"),
        ("Used, captured (provisional)", Trigger.CONFIRM, "Used, captured (confirmed)"),
        ("Used, captured (confirmed)", Trigger.FINALIZE, "Used, captured (final)"),
    ]
