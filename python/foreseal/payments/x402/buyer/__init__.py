"""Buyer side of x402: payment for requests within a policy."""

from foreseal.payments.x402.buyer.buyer import Buyer, Payment, Wanted
from foreseal.payments.x402.buyer.errors import (
    BuyingError,
    OutcomeUnknown,
    PaymentRefused,
    Refusal,
    Rule,
    Unreadable,
)
from foreseal.payments.x402.buyer.policy import Asset, Caps, Policy, Word
from foreseal.payments.x402.buyer.purchases import Purchases
from foreseal.payments.x402.buyer.transports import PURCHASE, AsyncPayingTransport, PayingTransport

__all__ = [
    "PURCHASE",
    "Asset",
    "AsyncPayingTransport",
    "Buyer",
    "BuyingError",
    "Caps",
    "OutcomeUnknown",
    "PayingTransport",
    "Payment",
    "PaymentRefused",
    "Policy",
    "Purchases",
    "Refusal",
    "Rule",
    "Unreadable",
    "Wanted",
    "Word",
]
