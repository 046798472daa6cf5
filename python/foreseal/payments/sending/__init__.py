"""Transactions of the merchant's key: one account nonce each, stored before they are sent."""

from foreseal.payments.sending.advancing import advance_each
from foreseal.payments.sending.errors import FeeTooHigh, SendingError, StillOpen, WrongChain
from foreseal.payments.sending.fees import GWEI, Fees, Quote
from foreseal.payments.sending.intents import Call, Intents, close, is_open, open_intent, open_subjects, read_intent
from foreseal.payments.sending.notes import note_delivery, note_outcome
from foreseal.payments.sending.sender import Delivered, Delivery, Outcome, Sender, building, grade, safety

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
