"""Transactions of the merchant's key: one account nonce each, stored before they are sent."""

from foreseal.payments.transactions.advance import advance_each
from foreseal.payments.transactions.errors import FeeTooHigh, SendingError, StillOpen, WrongChain
from foreseal.payments.transactions.fees import GWEI, Fees, Quote
from foreseal.payments.transactions.intents import (
    Call,
    Intents,
    close,
    is_open,
    open_intent,
    open_subjects,
    read_intent,
)
from foreseal.payments.transactions.sender import Delivered, Delivery, Outcome, Sender, building, grade, safety
from foreseal.payments.transactions.status_updates import note_delivery, note_outcome

__all__ = [
    "GWEI",
    "Call",
    "Delivered",
    "Delivery",
    "FeeTooHigh",
    "Fees",
    "Intents",
    "Outcome",
    "Quote",
    "Sender",
    "SendingError",
    "StillOpen",
    "WrongChain",
    "advance_each",
    "building",
    "close",
    "grade",
    "is_open",
    "note_delivery",
    "note_outcome",
    "open_intent",
    "open_subjects",
    "read_intent",
    "safety",
]
