// `make merchant-client` generates this file from the OpenAPI document of the service.

export type ActiveTxStatus =
  | "intended"
  | "broadcast"
  | "unknown"
  | "failed";

/** State of a circuit breaker. */
export type BreakerState =
  | "closed"
  | "open"
  | "half_open";

/** State of one event's delivery to one target. */
export type DeliveryState =
  | "pending"
  | "delivered"
  | "dead";

/** State of a refund or a payout. */
export type DisbursementState =
  | "Reserved"
  | "Broadcast"
  | "Complete"
  | "Blocked";

export type EventFilter =
  | "*"
  | "order.cancel_submitted"
  | "order.canceled"
  | "order.capture_submitted"
  | "order.captured"
  | "order.confirmed"
  | "order.created"
  | "order.expired"
  | "order.finalized"
  | "order.reopened"
  | "order.signed"
  | "order.stored"
  | "order.transaction_broadcast"
  | "order.transaction_failed"
  | "order.transaction_unknown"
  | "order.transfer_unmatched"
  | "order.unconfirmed"
  | "order.voided"
  | "payout.blocked"
  | "payout.completed"
  | "payout.confirmed"
  | "payout.created"
  | "payout.finalized"
  | "payout.reopened"
  | "payout.submitted"
  | "payout.transaction_broadcast"
  | "payout.transaction_failed"
  | "payout.transaction_unknown"
  | "payout.unconfirmed"
  | "refund.blocked"
  | "refund.completed"
  | "refund.confirmed"
  | "refund.created"
  | "refund.finalized"
  | "refund.reopened"
  | "refund.submitted"
  | "refund.transaction_broadcast"
  | "refund.transaction_failed"
  | "refund.transaction_unknown"
  | "refund.unconfirmed";

export type EventType =
  | "order.cancel_submitted"
  | "order.canceled"
  | "order.capture_submitted"
  | "order.captured"
  | "order.confirmed"
  | "order.created"
  | "order.expired"
  | "order.finalized"
  | "order.reopened"
  | "order.signed"
  | "order.stored"
  | "order.transaction_broadcast"
  | "order.transaction_failed"
  | "order.transaction_unknown"
  | "order.transfer_unmatched"
  | "order.unconfirmed"
  | "order.voided"
  | "payout.blocked"
  | "payout.completed"
  | "payout.confirmed"
  | "payout.created"
  | "payout.finalized"
  | "payout.reopened"
  | "payout.submitted"
  | "payout.transaction_broadcast"
  | "payout.transaction_failed"
  | "payout.transaction_unknown"
  | "payout.unconfirmed"
  | "refund.blocked"
  | "refund.completed"
  | "refund.confirmed"
  | "refund.created"
  | "refund.finalized"
  | "refund.reopened"
  | "refund.submitted"
  | "refund.transaction_broadcast"
  | "refund.transaction_failed"
  | "refund.transaction_unknown"
  | "refund.unconfirmed"
  | "webhook.test";

/** Finality of an effect that is on the chain. */
export type Finality =
  | "provisional"
  | "confirmed"
  | "final";

export type ObjectKind =
  | "order"
  | "refund"
  | "payout"
  | "webhook";

/** State of an order's authorization. */
export type OrderState =
  | "Drafted"
  | "Signed, unused"
  | "Stored, unused"
  | "Used, captured"
  | "Voided offchain"
  | "Canceled"
  | "Expired";

/** Purpose of a transaction. */
export type Purpose =
  | "capture"
  | "capture_batch"
  | "cancel"
  | "refund"
  | "payout"
  | "settle";

/** Reason why a transfer to the merchant matches no order. */
export type Reason =
  | "underpaid"
  | "overpaid"
  | "late"
  | "duplicate"
  | "direct"
  | "unmatched"
  | "shared_payee"
  | "granted"
  | "channel_payout"
  | "sweep";

/** Role of an API key. Every role except PUBLISHABLE may read. */
export type Role =
  | "reader"
  | "cashier"
  | "refunder"
  | "admin"
  | "publishable";

export type SelectableType =
  | "order.cancel_submitted"
  | "order.canceled"
  | "order.capture_submitted"
  | "order.captured"
  | "order.confirmed"
  | "order.created"
  | "order.expired"
  | "order.finalized"
  | "order.reopened"
  | "order.signed"
  | "order.stored"
  | "order.transaction_broadcast"
  | "order.transaction_failed"
  | "order.transaction_unknown"
  | "order.transfer_unmatched"
  | "order.unconfirmed"
  | "order.voided"
  | "payout.blocked"
  | "payout.completed"
  | "payout.confirmed"
  | "payout.created"
  | "payout.finalized"
  | "payout.reopened"
  | "payout.submitted"
  | "payout.transaction_broadcast"
  | "payout.transaction_failed"
  | "payout.transaction_unknown"
  | "payout.unconfirmed"
  | "refund.blocked"
  | "refund.completed"
  | "refund.confirmed"
  | "refund.created"
  | "refund.finalized"
  | "refund.reopened"
  | "refund.submitted"
  | "refund.transaction_broadcast"
  | "refund.transaction_failed"
  | "refund.transaction_unknown"
  | "refund.unconfirmed";

/** Reason why a transaction needs no further tracking. */
export type TxResult =
  | "included"
  | "replaced";

/** Origin of a webhook's target. */
export type WebhookOrigin =
  | "configured"
  | "registered";

