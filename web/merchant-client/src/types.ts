// `make merchant-client` generates this file from the OpenAPI document of the service.

import type {
  ActiveTxStatus,
  BreakerState,
  DeliveryState,
  DisbursementState,
  EventFilter,
  EventType,
  Finality,
  ObjectKind,
  OrderState,
  Purpose,
  Reason,
  Role,
  SelectableType,
  TxResult,
  WebhookOrigin,
} from "./values.js";

/** An API key, without its secret. */
export interface ApiKey {
  id: string;
  name: string;
  role: Role;
  /** Unix time in seconds. */
  created: number;
  revoked: number | null;
}

/** A new API key and its secret. */
export interface ApiKeySecret {
  api_key: ApiKey;
  /** Text of the API key, shown only once; null if the request is repeated. */
  secret: string | null;
}

/** All API keys. */
export interface ApiKeys {
  items: ApiKey[];
}

/** Sums of the ledger by destination. */
export interface Balance {
  /** All destinations in the order of the configuration, then those no longer configured. */
  destinations: DestinationBalance[];
  /** Contradictions; empty if the ledger is consistent. */
  faults: Problem[];
}

/** A signature of an order's payer over the cancellation. */
export interface CancellationSignature {
  /** Signature of the payer over the typed data. */
  signature: string;
}

/** Payment link of an order. */
export interface CheckoutLink {
  /** Payment link for the shopper, with the client secret. */
  checkout_url: string;
}

/** Health of the database. */
export interface DatabaseHealth {
  reachable: boolean;
  /** Seconds since the last check; null before the first. */
  checked: number | null;
}

/** Orders in one token, by the day of their creation. */
export interface DayStatistics {
  /** Unix time in seconds. */
  day: number;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  orders: number;
  captured: number;
  /** Orders that were voided, canceled or expired. */
  failed: number;
  /** Sum of the captured amounts. */
  volume: Money;
  /** Sum of the refunds of these orders, including pending ones. */
  refunded: Money;
}

/** The delivery of one event to one target. */
export interface Delivery {
  id: number;
  webhook_id: string;
  event_id: string;
  event_type: EventType;
  object: ObjectKind;
  object_id: string;
  state: DeliveryState;
  attempts: number;
  next_attempt: number | null;
  last_error: string | null;
}

/** One page of deliveries. */
export interface DeliveryPage {
  items: Delivery[];
  /** The cursor of the next page, or null. */
  next: string | null;
}

/** Sums of one destination, in smallest units of its token. */
export interface DestinationBalance {
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Accounts whose transfers are counted. */
  payees: string[];
  /** Amount in smallest units. */
  received: string;
  /** Amount in smallest units. */
  captured: string;
  /** Amount in smallest units. */
  granted: string;
  /** Amount in smallest units. */
  unmatched: string;
  /** Amount in smallest units. */
  refunded: string;
  /** Amount in smallest units. */
  reserved: string;
}

/** A destination. */
export interface DestinationHealth {
  name: string;
  token: string;
  symbol: string;
  payee: PayeeHealth;
}

/** Content of every error response. */
export interface Error {
  error: ErrorBody;
}

/** An error. */
export interface ErrorBody {
  code: string;
  /** Description for people. */
  message: string;
  /** The field, parameter or header at fault. */
  argument: string | null;
  /** Obstacle to a capture, as a code. */
  reason: string | null;
}

/** An event of an order, a refund, a payout or a webhook. */
export interface Event {
  id: string;
  type: EventType;
  /** Unix time in seconds. */
  created: number;
  data: EventData;
}

/** Content of an event. */
export interface EventData {
  object: EventObject;
  previous: EventStatus | null;
  /** Hashes and amounts; `reason` is a code, `message` for people. */
  details: Record<string, unknown>;
}

/** The object with its status after the event, without what may change later. */
export type EventObject = EventOrder | EventRefund | EventPayout | EventWebhook;

/** The order of an event. */
export interface EventOrder {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that receives the money: the payee's, or its batch capture contract. */
  payee: string;
  id: string;
  chain_id: number;
  /** Account of the buyer; null until a signature assigns the payer. */
  payer: string | null;
  /** Contract that captures an order with a maximum. */
  checkout: string | null;
  /** Unix time in seconds. */
  valid_after: number;
  /** Unix time in seconds. */
  valid_before: number;
  nonce: string;
  /** Memo by which a transfer refers to the order. */
  memo: string;
  /** Unix time in seconds. */
  created: number;
  /** The merchant's own name of the order. */
  reference: string | null;
  /** The merchant's own data: texts by name. */
  metadata: Record<string, string>;
  /** True if the order is captured once its signature is stored. */
  auto_capture: boolean;
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: string;
  object: "order";
}

/** The payout of an event. */
export interface EventPayout {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that sends the money; null if the destination is not configured. */
  payee: string | null;
  id: string;
  chain_id: number;
  contract: string;
  recipients: Leg[];
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: string;
  object: "payout";
}

/** The refund of an event. */
export interface EventRefund {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that sends the money; null if the destination is not configured. */
  payee: string | null;
  id: string;
  /** Order; null if an unmatched transfer is refunded. */
  order_id: string | null;
  /** Unmatched transfer; null for an order. */
  transfer: RefundedTransfer | null;
  chain_id: number;
  recipient: string;
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: string;
  object: "refund";
}

/** Status of an object before or after an event. */
export interface EventStatus {
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: string;
}

/** The target of a test event. */
export interface EventWebhook {
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: string;
  object: "webhook";
  id: string;
  /** Unix time in seconds. */
  created: number;
}

/** Health of the service. */
export interface Health {
  status: "ok" | "degraded" | "unhealthy";
  /** Failed checks; empty if the service is healthy. */
  reasons: Problem[];
  node: NodeHealth;
  destinations: DestinationHealth[];
  /** Open orders whose token and payee no configured destination has. */
  orders_without_destination: number;
  database: DatabaseHealth;
  worker: WorkerHealth;
  processes: number;
  webhooks: WebhookHealth;
}

/** A recipient of a payout. */
export interface Leg {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  recipient: string;
}

/** An amount. */
export interface Money {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
}

/** An API key to create. */
export interface NewApiKey {
  /** Name of the key, for people. */
  name: string;
  /** Role of the key. */
  role: Role;
}

/** Terms of an order: an exact amount, or a maximum. */
export interface NewOrder {
  /** Id of the order; derived from the Idempotency-Key by default. */
  id?: string | null;
  /** Account of the buyer; without it, the first account that signs becomes the payer. */
  payer?: string | null;
  /** Exact amount to capture, in smallest units, as a string. */
  amount?: string | null;
  /** Maximum amount to capture by the checkout contract, instead of amount. */
  maximum?: string | null;
  /** Unix time in seconds, exclusive; default 0. */
  valid_after?: number | null;
  /** Unix time in seconds, exclusive. */
  valid_before?: number | null;
  /** Validity in seconds from the newest block, instead of valid_before. */
  valid_seconds?: number | null;
  /** Destination of the payment; default the first. */
  destination?: string | null;
  /** The merchant's own name of the order. */
  reference?: string | null;
  /** Capture the order as soon as its signature is stored; default false. */
  auto_capture?: boolean | null;
  /** The merchant's own data: texts by name. */
  metadata?: Record<string, string> | null;
  /** Page of the shop to which the checkout page returns after the payment. */
  success_url?: string | null;
  /** Page of the shop to which the checkout page returns without a payment. */
  cancel_url?: string | null;
}

/** A payout of amounts. */
export interface NewPayout {
  /** 32 bytes that the contract accepts once; derived from the Idempotency-Key by default. */
  reference?: string | null;
  /** Destination whose payee pays in its token; default the first. */
  destination?: string | null;
  /** Recipients and amounts. */
  recipients: Recipient[];
}

/** A refund of a part of a capture, or all of it. */
export interface NewRefund {
  /** Id of the refund; derived from the Idempotency-Key by default. */
  id?: string | null;
  /** Amount in smallest units, as a string; by default all that is not refunded yet. */
  amount?: string | null;
}

/** Resolution of an unmatched transfer. */
export interface NewResolution {
  /** Resolution to record. */
  note: string;
}

/** A payout of a sum by shares. */
export interface NewSplit {
  /** 32 bytes that the contract accepts once; derived from the Idempotency-Key by default. */
  reference?: string | null;
  /** Destination whose payee pays in its token; default the first. */
  destination?: string | null;
  /** Amount in smallest units. */
  total: string;
  /** Shares in basis points; their sum is 10,000. */
  shares: Share[];
  /** Index of the share that receives the remainder; default 0. */
  remainder?: number | null;
}

/** A refund of an unmatched transfer, or of a part of it. */
export interface NewTransferRefund {
  /** Id of the refund; derived from the Idempotency-Key by default. */
  id?: string | null;
  /** Destination whose payee refunds: that at which the transfer arrived, by default. */
  destination?: string | null;
  /** Amount in smallest units, as a string; by default all of the transfer. */
  amount?: string | null;
  /** Note of the resolution; by default it names the refund. */
  note?: string | null;
  /** Required for the reason shared_payee: no service with the same payee has delivered for it. */
  confirm_shared_payee?: boolean;
}

/** A target to register. */
export interface NewWebhook {
  /** Public URL of http or https that receives the POST. */
  url: string;
  /** Event types that the target receives; ["*"] or by default all. */
  events?: EventFilter[] | null;
}

/** Health of the node. */
export interface NodeHealth {
  reachable: boolean;
  latest_block: number | null;
  /** Seconds since the timestamp of the latest block. */
  block_age: number | null;
  breaker: BreakerState;
  /** Seconds since the last check; null before the first. */
  checked: number | null;
}

/** An order. */
export interface Order {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that receives the money: the payee's, or its batch capture contract. */
  payee: string;
  id: string;
  chain_id: number;
  /** Account of the buyer; null until a signature assigns the payer. */
  payer: string | null;
  /** Contract that captures an order with a maximum. */
  checkout: string | null;
  /** Unix time in seconds. */
  valid_after: number;
  /** Unix time in seconds. */
  valid_before: number;
  nonce: string;
  /** Memo by which a transfer refers to the order. */
  memo: string;
  /** Unix time in seconds. */
  created: number;
  /** The merchant's own name of the order. */
  reference: string | null;
  /** The merchant's own data: texts by name. */
  metadata: Record<string, string>;
  /** True if the order is captured once its signature is stored. */
  auto_capture: boolean;
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: OrderState;
  /** Last rejection of the order's capture, for people; null once it is accepted. */
  last_error: string | null;
  payment: Payment | null;
  /** Sum of refunds, including pending ones. */
  refunded: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  refunded_shown: string;
}

/** Capture of an order. */
export interface OrderCapture {
  /** Amount to capture of an order with a maximum, in smallest units. */
  amount?: string | null;
}

/** An order and its transactions. */
export interface OrderDetail {
  order: Order;
  transactions: Transaction[];
}

/** One page of orders. */
export interface OrderPage {
  items: Order[];
  /** The cursor of the next page, or null. */
  next: string | null;
}

/** A stored payment. */
export interface OrderPlaced {
  order: Order;
}

/** A signature of an order's payer. */
export interface OrderSignature {
  /** Signature of the payer over the typed data. */
  signature: string;
  /** Account that signed; required if the order has no payer yet. */
  payer?: string | null;
}

/** An order with a stored signature. */
export interface OrderSigned {
  order: Order;
  transactions: Transaction[];
  /** Reason why an order with auto_capture is not captured yet; the service retries. */
  capture_error: ErrorBody | null;
}

/** An order and the typed data that its payer signs. */
export interface OrderToSign {
  order: Order;
  /** True if the order has no payer yet, so typed_data lacks the fields that depend on the payer. */
  payer_required: boolean;
  typed_data: TypedData;
  /** Payment link for the shopper, with the client secret; null without a checkout page. */
  checkout_url: string | null;
}

/** Void of an order. */
export interface OrderVoid {
  /** Reason shown in the timeline. */
  reason?: string | null;
}

/** Ether of a payee, which pays the gas. */
export interface PayeeHealth {
  address: string;
  /** Ether for gas in wei; null before the first check. */
  balance: string | null;
  /** Estimated captures that it pays at current fees. */
  captures_left: number | null;
  status: "ok" | "low" | "empty" | "unknown";
}

/** The transfer that paid an order. */
export interface Payment {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that receives the money: the payee's, or its batch capture contract. */
  payee: string;
  transaction_hash: string;
  log_index: number;
  /** Position of the Transfer among the logs of the transaction. */
  position: number;
  block_number: number;
  sender: string;
  finality: Finality;
  block_hash: string;
}

/** Outcomes of a batch, in the order of its payments. */
export interface PaymentBatch {
  items: PaymentBatchItem[];
}

/** Outcome of one payment of a batch. */
export interface PaymentBatchItem {
  /** Status that the item would have as a request of its own. */
  status: number;
  order: Order | null;
  error: ErrorBody | null;
}

/** Signed payments. */
export interface PaymentBatchRequest {
  /** Payments, in order. */
  payments: PaymentRequest[];
}

/** A signed payment. */
export interface PaymentRequest {
  /** Id of the order; derived from the Idempotency-Key by default. */
  id?: string | null;
  /** Account of the buyer. */
  payer: string;
  /** Exact amount, in smallest units, as a string. */
  amount: string;
  /** Unix time in seconds, exclusive; default 0. */
  valid_after?: number | null;
  /** Unix time in seconds, exclusive. */
  valid_before: number;
  /** Nonce of the signed authorization: 32 random bytes. */
  nonce: string;
  /** Signature of the payer over ReceiveWithAuthorization (EIP-3009). */
  signature: string;
  /** Capture the payment at once; default false. */
  capture?: boolean | null;
  /** Destination of the payment; default the first. */
  destination?: string | null;
  /** The merchant's own name of the order. */
  reference?: string | null;
  /** The merchant's own data: texts by name. */
  metadata?: Record<string, string> | null;
}

/** A payout. */
export interface Payout {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that sends the money; null if the destination is not configured. */
  payee: string | null;
  id: string;
  chain_id: number;
  contract: string;
  recipients: Leg[];
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: DisbursementState;
}

/** A payout and its transactions. */
export interface PayoutDetail {
  payout: Payout;
  transactions: Transaction[];
}

/** One page of payouts. */
export interface PayoutPage {
  items: Payout[];
  /** The cursor of the next page, or null. */
  next: string | null;
}

/** A payout that could be sent now. */
export interface PayoutPreview {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that sends the money; null if the destination is not configured. */
  payee: string | null;
  contract: string;
  recipients: Leg[];
}

/** A failed check or a contradiction. */
export interface Problem {
  code: string;
  /** Description for people. */
  message: string;
}

/** A recipient and an amount. */
export interface Recipient {
  /** Account of the recipient. */
  recipient: string;
  /** Amount in smallest units. */
  amount: string;
}

/** A refund. */
export interface Refund {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that sends the money; null if the destination is not configured. */
  payee: string | null;
  id: string;
  /** Order; null if an unmatched transfer is refunded. */
  order_id: string | null;
  /** Unmatched transfer; null for an order. */
  transfer: RefundedTransfer | null;
  chain_id: number;
  recipient: string;
  /** Finality of the effect on the chain; null without one. */
  finality: Finality | null;
  /** Status of the transaction in progress; null if there is none or its effect is on the chain. */
  tx_status: ActiveTxStatus | null;
  state: DisbursementState;
}

/** A refund and its transactions. */
export interface RefundDetail {
  refund: Refund;
  transactions: Transaction[];
}

/** One page of refunds. */
export interface RefundPage {
  items: Refund[];
  /** The cursor of the next page, or null. */
  next: string | null;
}

/** An unmatched transfer that is refunded. */
export interface RefundedTransfer {
  transaction_hash: string;
  position: number;
}

/** A recorded resolution. */
export interface Resolution {
  note: string;
  by: string;
  /** Unix time in seconds. */
  time: number;
}

/** Replacement of a secret. */
export interface SecretRotation {
  /** Seconds in which the replaced secret signs as well; default 86400. */
  overlap_seconds?: number | null;
}

/** A recipient and a share. */
export interface Share {
  /** Account of the recipient. */
  recipient: string;
  /** Share in basis points. */
  basis_points: number;
}

/** Statistics of orders by day. */
export interface Statistics {
  /** Unix time from which all orders are counted. */
  created_from: number;
  /** Unix time in seconds. */
  created_before: number;
  /** False if the range has too many orders; the oldest are left out. */
  complete: boolean;
  items: DayStatistics[];
}

/** A page of the events of an object, oldest first. */
export interface Timeline {
  items: Event[];
  /** The cursor of the next page, or null. */
  next: string | null;
}

/** A signed transaction and the hashes of its attempts. */
export interface Transaction {
  purpose: Purpose;
  account_nonce: number;
  hashes: string[];
  result: TxResult | null;
}

/** Typed data for eth_signTypedData_v4. */
export interface TypedData {
  types: Record<string, unknown>;
  primaryType: string;
  domain: Record<string, unknown>;
  message: Record<string, unknown>;
}

/** A transfer that pays neither an order nor an x402 response. */
export interface UnmatchedTransfer {
  /** Amount in smallest units. */
  amount: string;
  /** Exact amount in tokens, for people: two decimal places, or as many as needed. */
  amount_shown: string;
  /** Name of the destination; null if it is not configured. */
  destination: string | null;
  token: string;
  /** Symbol of the token; null if the token is not configured. */
  symbol: string | null;
  /** Account that receives the money: the payee's, or its batch capture contract. */
  payee: string;
  transaction_hash: string;
  log_index: number;
  /** Position of the Transfer among the logs of the transaction. */
  position: number;
  block_number: number;
  sender: string;
  finality: Finality;
  reason: Reason;
  order_id: string | null;
  resolution: Resolution | null;
}

/** One page of unmatched transfers. */
export interface UnmatchedTransferPage {
  items: UnmatchedTransfer[];
  /** The cursor of the next page, or null. */
  next: string | null;
}

/** A target of webhooks. */
export interface Webhook {
  id: string;
  url: string;
  /** Event types; null for all. */
  events: SelectableType[] | null;
  origin: WebhookOrigin;
  /** Unix time in seconds. */
  created: number;
  retired: number | null;
  /** Time until which a replaced secret signs as well. */
  previous_secret_expires: number | null;
}

/** New values of a target. */
export interface WebhookChange {
  /** New URL; by default unchanged. */
  url?: string | null;
  /** Event types that the target receives; ["*"] for all; by default unchanged. */
  events?: EventFilter[] | null;
}

/** Numbers of deliveries. */
export interface WebhookHealth {
  pending: number;
  dead: number;
}

/** A target and its new secret. */
export interface WebhookSecret {
  webhook: Webhook;
  /** Key of the signatures, shown only once. */
  secret: string;
}

/** All targets. */
export interface Webhooks {
  items: Webhook[];
}

/** Progress of background processing. */
export interface WorkerHealth {
  /** Block up to which transfers are read. */
  read_block: number | null;
  latest_block: number | null;
  synced: boolean;
  /** Unix time in seconds of the last full pass. */
  last_success: number | null;
  consecutive_failures: number;
}

