"""Buyer side of x402: payment for requests within a policy."""

from foreseal.payments.x402.buyer.buyer import Buyer, BuyerPayment, PaidRequest
from foreseal.payments.x402.buyer.errors import (
    BuyingError,
    OutcomeUnknown,
    PolicyViolation,
    PurchaseRejected,
    Rule,
    Unreadable,
)
from foreseal.payments.x402.buyer.httpx_transports import PURCHASE, AsyncPayingTransport, PayingTransport
from foreseal.payments.x402.buyer.purchases import Purchases
from foreseal.payments.x402.buyer.spending_policy import Asset, Caps, ReportSource, SpendingPolicy

__all__ = [
    "PURCHASE",
    "Asset",
    "AsyncPayingTransport",
    "Buyer",
    "BuyerPayment",
    "BuyingError",
    "Caps",
    "OutcomeUnknown",
    "PaidRequest",
    "PayingTransport",
    "PolicyViolation",
    "PurchaseRejected",
    "Purchases",
    "ReportSource",
    "Rule",
    "SpendingPolicy",
    "Unreadable",
]
