"""Events: entries of the timeline in the form that the API and the webhooks use.

The database stores triggers and states as texts of the specification. This module is the one place that maps them to
event types, codes and fields.
"""

import json
from typing import Any

from sqlalchemy import Row

from foreseal.payments.ledger import Trigger
from foreseal.payments.ledger.states import EFFECTED, StatusStep, TxStatus, parsed
from foreseal.payments.ledger.tables import STORED_REASONS

JsonObject = dict[str, Any]

UNMATCHED = "suspense"
"""Stored trigger of an entry that records an unmatched transfer."""

OBJECTS = {"orders": "order", "refunds": "refund", "payouts": "payout"}
"""Kind of object by table."""

_EVENTS = {
    Trigger.SET_TERMS: "created",
    Trigger.PLACE: "created",
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
    UNMATCHED: "transfer_unmatched",
}
_OUTCOMES = {"Used, captured": "captured", "Canceled": "canceled", "Complete": "completed"}
_KINDS = {
    "order": (*list(_EVENTS)[:15], UNMATCHED),
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

# Codes of the reasons that earlier versions stored as sentences.
_REASONS = {
    "the payer canceled": "payer_canceled",
    "nothing is under way": "no_transaction",
    "its account nonce was used by another transaction": "account_nonce_used",
    "it was reverted": "reverted",
    **{stored: reason.value for reason, stored in STORED_REASONS.items()},
}
# Reasons that earlier versions stored as free text.
_FREE = {Trigger.VOID: "merchant_voided", Trigger.BLOCK: "recipient_forbidden"}


def event(row: Row[Any]) -> JsonObject:
    """Return the event of a timeline entry. It is the same in every delivery."""
    kind = OBJECTS[row.subject]
    return {
        "id": event_id(row.id),
        "type": f"{kind}.{_type(row)}",
        "created": row.time,
        "data": {
            "object": {"object": kind, "id": row.subject_id, **_status(row.after)},
            "previous": None if row.before is None else _status(row.before),
            "details": _details(row),
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


def _type(row: Row[Any]) -> str:
    if row.trigger == Trigger.LANDED:
        return _OUTCOMES[parsed(row.after)[0]]
    return _EVENTS[row.trigger]


def _details(row: Row[Any]) -> JsonObject:
    found: JsonObject = json.loads(row.details)
    reason = found.get("reason")
    if row.trigger in _FREE and "message" not in found and reason not in _REASONS and reason is not None:
        return found | {"reason": _FREE[row.trigger], "message": reason}
    return found if reason is None else found | {"reason": _REASONS.get(reason, reason)}
