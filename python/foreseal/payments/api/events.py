"""Events: entries of the timeline in the form that the API and the webhooks use.

The database stores triggers and states as texts of the specification. This module is the one place that maps them to
event types, codes and fields.
"""

import json
from typing import Any

from foreseal.payments.ledger import Trigger
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.states import EFFECTED, StatusStep, TxStatus, parsed
from foreseal.payments.ledger.timeline import TRANSFER_UNMATCHED

JsonObject = dict[str, Any]

OBJECTS = {"orders": "order", "refunds": "refund", "payouts": "payout"}
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
"""Every value of an event's `type`."""


def event(row: TimelineRecord) -> JsonObject:
    """Return the event of a timeline entry. It is the same in every delivery."""
    kind = OBJECTS[row.subject]
    return {
        "id": event_id(row.id),
        "type": f"{kind}.{_type(row)}",
        "created": row.time,
        "data": {
            "object": {"object": kind, "id": row.subject_id, **_status(row.after)},
            "previous": None if row.before is None else _status(row.before),
            "details": json.loads(row.details),
        },
    }


def event_id(number: int) -> str:
    """Return the public id of a timeline entry."""
    return f"evt_{number}"


def refined(step: StatusStep) -> JsonObject:
    """Return finality and transaction status as two fields, of which at most one is set."""
    final = step in EFFECTED
    return {
        "finality": step.value if final else None,
        "tx_status": None if final or step is TxStatus.IDLE else step.value,
    }


def _status(text: str) -> JsonObject:
    state, step = parsed(text)
    return {"state": state, **refined(step)}


def _type(row: TimelineRecord) -> str:
    if row.trigger == Trigger.LANDED:
        return _OUTCOMES[parsed(row.after)[0]]
    return _EVENTS[row.trigger]
