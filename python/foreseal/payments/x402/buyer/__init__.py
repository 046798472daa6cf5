"""Buyer side of x402: payment for requests within a policy."""

from foreseal.payments.x402.buyer.buyer import Buyer, Payment, Wanted
from foreseal.payments.x402.buyer.errors import (
    BuyingError,
    OutcomeUnknown,
    PaymentRejected,
    PolicyViolation,
    Rule,
    Unreadable,
)
from foreseal.payments.x402.buyer.httpx_transports import PURCHASE, AsyncPayingTransport, PayingTransport
from foreseal.payments.x402.buyer.purchases import Purchases
from foreseal.payments.x402.buyer.spending_policy import Asset, Caps, Policy, ReportSource

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
    "PaymentRejected",
    "Policy",
    "PolicyViolation",
    "Purchases",
    "ReportSource",
    "Rule",
    "Unreadable",
    "Wanted",
]
