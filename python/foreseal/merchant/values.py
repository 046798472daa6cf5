"""Values of states and codes.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from typing import Literal, TypeAlias

ActiveTxStatus: TypeAlias = Literal["intended", "broadcast", "unknown", "failed"]
BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
"""State of a circuit breaker."""
DeliveryState: TypeAlias = Literal["pending", "delivered", "dead"]
"""State of one event's delivery to one target."""
DisbursementState: TypeAlias = Literal["Reserved", "Broadcast", "Complete", "Blocked"]
"""State of a refund or a payout."""
EventFilter: TypeAlias = Literal[
    "*",
    "order.cancel_submitted",
    "order.canceled",
    "order.capture_submitted",
    "order.captured",
    "order.confirmed",
    "order.created",
    "order.expired",
    "order.finalized",
    "order.reopened",
    "order.signed",
    "order.stored",
    "order.transaction_broadcast",
    "order.transaction_failed",
    "order.transaction_unknown",
    "order.transfer_unmatched",
    "order.unconfirmed",
    "order.voided",
    "payout.blocked",
    "payout.completed",
    "payout.confirmed",
    "payout.created",
    "payout.finalized",
    "payout.reopened",
    "payout.submitted",
    "payout.transaction_broadcast",
    "payout.transaction_failed",
    "payout.transaction_unknown",
    "payout.unconfirmed",
    "refund.blocked",
    "refund.completed",
    "refund.confirmed",
    "refund.created",
    "refund.finalized",
    "refund.reopened",
    "refund.submitted",
    "refund.transaction_broadcast",
    "refund.transaction_failed",
    "refund.transaction_unknown",
    "refund.unconfirmed",
]
EventType: TypeAlias = Literal[
    "order.cancel_submitted",
    "order.canceled",
    "order.capture_submitted",
    "order.captured",
    "order.confirmed",
    "order.created",
    "order.expired",
    "order.finalized",
    "order.reopened",
    "order.signed",
    "order.stored",
    "order.transaction_broadcast",
    "order.transaction_failed",
    "order.transaction_unknown",
    "order.transfer_unmatched",
    "order.unconfirmed",
    "order.voided",
    "payout.blocked",
    "payout.completed",
    "payout.confirmed",
    "payout.created",
    "payout.finalized",
    "payout.reopened",
    "payout.submitted",
    "payout.transaction_broadcast",
    "payout.transaction_failed",
    "payout.transaction_unknown",
    "payout.unconfirmed",
    "refund.blocked",
    "refund.completed",
    "refund.confirmed",
    "refund.created",
    "refund.finalized",
    "refund.reopened",
    "refund.submitted",
    "refund.transaction_broadcast",
    "refund.transaction_failed",
    "refund.transaction_unknown",
    "refund.unconfirmed",
    "webhook.test",
]
Finality: TypeAlias = Literal["provisional", "confirmed", "final"]
"""Finality of an effect that is on the chain."""
ObjectKind: TypeAlias = Literal["order", "refund", "payout", "webhook"]
OrderState: TypeAlias = Literal[
    "Drafted", "Signed, unused", "Stored, unused", "Used, captured", "Voided offchain", "Canceled", "Expired"
]
"""State of an order's authorization."""
Purpose: TypeAlias = Literal["capture", "capture_batch", "cancel", "refund", "payout", "settle"]
"""Purpose of a transaction."""
Reason: TypeAlias = Literal[
    "underpaid",
    "overpaid",
    "late",
    "duplicate",
    "direct",
    "unmatched",
    "shared_payee",
    "granted",
    "channel_payout",
    "sweep",
]
"""Reason why a transfer to the merchant matches no order."""
Role: TypeAlias = Literal["reader", "cashier", "refunder", "admin", "publishable"]
"""Role of an API key. Every role except PUBLISHABLE may read."""
SelectableType: TypeAlias = Literal[
    "order.cancel_submitted",
    "order.canceled",
    "order.capture_submitted",
    "order.captured",
    "order.confirmed",
    "order.created",
    "order.expired",
    "order.finalized",
    "order.reopened",
    "order.signed",
    "order.stored",
    "order.transaction_broadcast",
    "order.transaction_failed",
    "order.transaction_unknown",
    "order.transfer_unmatched",
    "order.unconfirmed",
    "order.voided",
    "payout.blocked",
    "payout.completed",
    "payout.confirmed",
    "payout.created",
    "payout.finalized",
    "payout.reopened",
    "payout.submitted",
    "payout.transaction_broadcast",
    "payout.transaction_failed",
    "payout.transaction_unknown",
    "payout.unconfirmed",
    "refund.blocked",
    "refund.completed",
    "refund.confirmed",
    "refund.created",
    "refund.finalized",
    "refund.reopened",
    "refund.submitted",
    "refund.transaction_broadcast",
    "refund.transaction_failed",
    "refund.transaction_unknown",
    "refund.unconfirmed",
]
TxResult: TypeAlias = Literal["included", "replaced"]
"""Reason why a transaction needs no further tracking."""
WebhookOrigin: TypeAlias = Literal["configured", "registered"]
"""Origin of a webhook's target."""
