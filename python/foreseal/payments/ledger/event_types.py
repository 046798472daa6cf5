"""Types of events: public names of timeline entries, such as `order.captured`.

The database stores triggers as texts of the specification. This module is the one place that maps them to types.
"""

from collections.abc import Sequence

from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.states import Trigger, parsed
from foreseal.payments.ledger.timeline import TRANSFER_UNMATCHED, WEBHOOK_ROTATED, WEBHOOK_TESTED

OBJECTS = {"orders": "order", "refunds": "refund", "payouts": "payout", "webhooks": "webhook"}
"""Kind of object by table."""

_EVENTS: dict[str, str] = {
    Trigger.SET_TERMS: "created",
    Trigger.STORE_SIGNED: "created",
    Trigger.SIGN: "signed",
    Trigger.STORE: "stored",
    Trigger.CAPTURE: "capture_submitted",
    Trigger.VOID: "voided",
    Trigger.CANCEL: "cancel_submitted",
    Trigger.EXPIRE: "expired",
    Trigger.ACCEPTED: "transaction_broadcast",
    Trigger.LOST: "transaction_unknown",
    Trigger.FAIL: "transaction_failed",
    Trigger.CONFIRM: "confirmed",
    Trigger.DEMOTE: "unconfirmed",
    Trigger.FINALIZE: "finalized",
    Trigger.REOPEN: "reopened",
    Trigger.RESERVE: "created",
    Trigger.SUBMIT: "submitted",
    Trigger.BLOCK: "blocked",
    TRANSFER_UNMATCHED: "transfer_unmatched",
    WEBHOOK_TESTED: "test",
    WEBHOOK_ROTATED: "secret_rotated",
}
_OUTCOMES = {"Used, captured": "captured", "Canceled": "canceled", "Complete": "completed"}
_KINDS = {
    "order": (*list(_EVENTS)[:15], TRANSFER_UNMATCHED),
    "refund": tuple(_EVENTS)[8:18],
    "payout": tuple(_EVENTS)[8:18],
}
TYPES = tuple(
    sorted(
        {f"{kind}.{_EVENTS[trigger]}" for kind, triggers in _KINDS.items() for trigger in triggers}
        | {"order.captured", "order.canceled", "refund.completed", "payout.completed"}
    )
)
"""Every type to which a target can subscribe."""
TEST = "webhook.test"
"""Type of an event that tests one target, which receives it in any case."""


def event_type(row: TimelineRecord) -> str:
    """Return the type of a timeline entry's event."""
    return entry_type(row.subject, row.trigger, row.after)


def entry_type(subject: str, trigger: str, after: str) -> str:
    """Return the type of the event of an entry about a row of the table `subject`."""
    event = _OUTCOMES[parsed(after)[0]] if trigger == Trigger.LANDED else _EVENTS[trigger]
    return f"{OBJECTS[subject]}.{event}"


def event_id(number: int) -> str:
    """Return the public id of the event of a timeline entry."""
    return f"evt_{number}"


def check_types(types: Sequence[str]) -> tuple[str, ...]:
    """Return event types without duplicates, in alphabetical order. Raises ValueError for an unknown or missing one."""
    if not types:
        raise ValueError("must have at least one event type; without the list, a target receives all")
    for given in types:
        if given not in TYPES:
            raise ValueError(f"{given!r} is not an event type: use {', '.join(TYPES)}")
    return tuple(sorted(set(types)))
