// `make merchant-client` generates this file from the OpenAPI document of the service.

import { segment, Transport, type PostOptions, type RequestOptions } from "./transport.js";
import type {
  ExportCsvQuery,
  ExportJsonLinesQuery,
  GetOrderQuery,
  GetOrderTimelineQuery,
  GetOrderTypedDataQuery,
  GetPayoutTimelineQuery,
  GetRefundTimelineQuery,
  GetStatisticsQuery,
  ListDeliveriesQuery,
  ListOrdersQuery,
  ListPayoutsQuery,
  ListRefundsQuery,
  ListUnmatchedTransfersQuery,
} from "./queries.js";

import type {
  ApiKey,
  ApiKeySecret,
  ApiKeys,
  Balance,
  CancellationSignature,
  CheckoutLink,
  Delivery,
  DeliveryPage,
  Event,
  Health,
  NewApiKey,
  NewOrder,
  NewPayout,
  NewRefund,
  NewResolution,
  NewSplit,
  NewTransferRefund,
  NewWebhook,
  Order,
  OrderCapture,
  OrderDetail,
  OrderPage,
  OrderPlaced,
  OrderSignature,
  OrderSigned,
  OrderToSign,
  OrderVoid,
  PaymentBatch,
  PaymentBatchRequest,
  PaymentRequest,
  Payout,
  PayoutDetail,
  PayoutPage,
  PayoutPreview,
  Refund,
  RefundDetail,
  RefundPage,
  SecretRotation,
  Statistics,
  Timeline,
  TypedData,
  UnmatchedTransfer,
  UnmatchedTransferPage,
  Webhook,
  WebhookChange,
  WebhookSecret,
  Webhooks,
} from "./types.js";

/** One method for each operation of the API. */
export class MerchantMethods extends Transport {
  /** Store a signed payment, and capture it if requested. */
  createPayment(body: PaymentRequest, options: PostOptions = {}): Promise<OrderPlaced> {
    return this.post("/v1/payments", body, options);
  }

  /** Store many signed payments; each item of the response, in order, has its own outcome. */
  createPayments(body: PaymentBatchRequest, options: PostOptions = {}): Promise<PaymentBatch> {
    return this.post("/v1/payments/batch", body, options);
  }

  /** Create an order; the response contains the typed data that the buyer signs. */
  createOrder(body: NewOrder = {}, options: PostOptions = {}): Promise<OrderToSign> {
    return this.post("/v1/orders", body, options);
  }

  /** List and search orders, newest first. */
  listOrders(query: ListOrdersQuery = {}, options: RequestOptions = {}): Promise<OrderPage> {
    return this.get("/v1/orders", query, options);
  }

  /** Iterate over all pages of `listOrders`; `limit` is the size of a page. */
  iterOrders(query: Omit<ListOrdersQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Order> {
    return this.iterate("/v1/orders", query, options);
  }

  /** Return an order. */
  getOrder(orderId: string, query: GetOrderQuery = {}, options: RequestOptions = {}): Promise<OrderDetail> {
    return this.get(`/v1/orders/${segment(orderId)}`, query, options);
  }

  /** Return the typed data that the payer signs to pay or to cancel. */
  getOrderTypedData(orderId: string, query: GetOrderTypedDataQuery = {}, options: RequestOptions = {}): Promise<TypedData> {
    return this.get(`/v1/orders/${segment(orderId)}/typed-data`, query, options);
  }

  /** Return the payment link of an order. */
  getOrderCheckoutLink(orderId: string, options: RequestOptions = {}): Promise<CheckoutLink> {
    return this.get(`/v1/orders/${segment(orderId)}/checkout-link`, {}, options);
  }

  /** Return the timeline of an order, oldest first. */
  getOrderTimeline(orderId: string, query: GetOrderTimelineQuery = {}, options: RequestOptions = {}): Promise<Timeline> {
    return this.get(`/v1/orders/${segment(orderId)}/timeline`, query, options);
  }

  /** Iterate over all pages of `getOrderTimeline`; `limit` is the size of a page. */
  iterOrderTimeline(orderId: string, query: Omit<GetOrderTimelineQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Event> {
    return this.iterate(`/v1/orders/${segment(orderId)}/timeline`, query, options);
  }

  /** Verify and store the payer's signature, and capture an order with auto_capture. */
  submitOrderSignature(orderId: string, body: OrderSignature, options: PostOptions = {}): Promise<OrderSigned> {
    return this.post(`/v1/orders/${segment(orderId)}/signature`, body, options);
  }

  /** Capture an order: submit the transaction and track its receipt. */
  captureOrder(orderId: string, body: OrderCapture = {}, options: PostOptions = {}): Promise<OrderDetail> {
    return this.post(`/v1/orders/${segment(orderId)}/capture`, body, options);
  }

  /** Void an order, so that it is never captured. */
  voidOrder(orderId: string, body: OrderVoid = {}, options: PostOptions = {}): Promise<OrderDetail> {
    return this.post(`/v1/orders/${segment(orderId)}/void`, body, options);
  }

  /** Relay the payer's signed cancellation of a voided order. */
  cancelOrder(orderId: string, body: CancellationSignature, options: PostOptions = {}): Promise<OrderDetail> {
    return this.post(`/v1/orders/${segment(orderId)}/cancel`, body, options);
  }

  /** Refund a part of a capture, or all of it, to the sender of its transfer. */
  refundOrder(orderId: string, body: NewRefund = {}, options: PostOptions = {}): Promise<RefundDetail> {
    return this.post(`/v1/orders/${segment(orderId)}/refunds`, body, options);
  }

  /** List refunds, newest first. */
  listRefunds(query: ListRefundsQuery = {}, options: RequestOptions = {}): Promise<RefundPage> {
    return this.get("/v1/refunds", query, options);
  }

  /** Iterate over all pages of `listRefunds`; `limit` is the size of a page. */
  iterRefunds(query: Omit<ListRefundsQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Refund> {
    return this.iterate("/v1/refunds", query, options);
  }

  /** Return a refund. */
  getRefund(refundId: string, options: RequestOptions = {}): Promise<RefundDetail> {
    return this.get(`/v1/refunds/${segment(refundId)}`, {}, options);
  }

  /** Return the timeline of a refund, oldest first. */
  getRefundTimeline(refundId: string, query: GetRefundTimelineQuery = {}, options: RequestOptions = {}): Promise<Timeline> {
    return this.get(`/v1/refunds/${segment(refundId)}/timeline`, query, options);
  }

  /** Iterate over all pages of `getRefundTimeline`; `limit` is the size of a page. */
  iterRefundTimeline(refundId: string, query: Omit<GetRefundTimelineQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Event> {
    return this.iterate(`/v1/refunds/${segment(refundId)}/timeline`, query, options);
  }

  /** Pay up to 100 recipients in one transaction. */
  createPayout(body: NewPayout, options: PostOptions = {}): Promise<PayoutDetail> {
    return this.post("/v1/payouts", body, options);
  }

  /** List payouts, newest first. */
  listPayouts(query: ListPayoutsQuery = {}, options: RequestOptions = {}): Promise<PayoutPage> {
    return this.get("/v1/payouts", query, options);
  }

  /** Iterate over all pages of `listPayouts`; `limit` is the size of a page. */
  iterPayouts(query: Omit<ListPayoutsQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Payout> {
    return this.iterate("/v1/payouts", query, options);
  }

  /** Divide a sum by shares and pay it out. */
  createSplit(body: NewSplit, options: PostOptions = {}): Promise<PayoutDetail> {
    return this.post("/v1/splits", body, options);
  }

  /** Check a payout as POST /v1/payouts does, and send nothing. */
  previewPayout(body: NewPayout, options: RequestOptions = {}): Promise<PayoutPreview> {
    return this.post("/v1/payouts/preview", body, options);
  }

  /** Check a split as POST /v1/splits does, and send nothing. */
  previewSplit(body: NewSplit, options: RequestOptions = {}): Promise<PayoutPreview> {
    return this.post("/v1/splits/preview", body, options);
  }

  /** Return a payout. */
  getPayout(payoutId: string, options: RequestOptions = {}): Promise<PayoutDetail> {
    return this.get(`/v1/payouts/${segment(payoutId)}`, {}, options);
  }

  /** Return the timeline of a payout, oldest first. */
  getPayoutTimeline(payoutId: string, query: GetPayoutTimelineQuery = {}, options: RequestOptions = {}): Promise<Timeline> {
    return this.get(`/v1/payouts/${segment(payoutId)}/timeline`, query, options);
  }

  /** Iterate over all pages of `getPayoutTimeline`; `limit` is the size of a page. */
  iterPayoutTimeline(payoutId: string, query: Omit<GetPayoutTimelineQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Event> {
    return this.iterate(`/v1/payouts/${segment(payoutId)}/timeline`, query, options);
  }

  /** List unmatched transfers to the merchant, newest first. */
  listUnmatchedTransfers(query: ListUnmatchedTransfersQuery = {}, options: RequestOptions = {}): Promise<UnmatchedTransferPage> {
    return this.get("/v1/unmatched-transfers", query, options);
  }

  /** Iterate over all pages of `listUnmatchedTransfers`; `limit` is the size of a page. */
  iterUnmatchedTransfers(query: Omit<ListUnmatchedTransfersQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<UnmatchedTransfer> {
    return this.iterate("/v1/unmatched-transfers", query, options);
  }

  /** Record how an unmatched transfer was resolved. */
  resolveUnmatchedTransfer(transaction: string, position: number, body: NewResolution, options: PostOptions = {}): Promise<UnmatchedTransfer> {
    return this.post(`/v1/unmatched-transfers/${segment(transaction)}/${segment(position)}/resolution`, body, options);
  }

  /** Return sums and contradictions of the ledger. */
  getBalance(options: RequestOptions = {}): Promise<Balance> {
    return this.get("/v1/balance", {}, options);
  }

  /** Export captured, granted, unmatched, refunded and paid out transfers as CSV. */
  exportCsv(query: ExportCsvQuery = {}, options: RequestOptions = {}): AsyncIterable<string> {
    return this.stream("/v1/export.csv", query, options);
  }

  /** Export the rows of the CSV, each as one line of JSON. */
  exportJsonLines(query: ExportJsonLinesQuery = {}, options: RequestOptions = {}): AsyncIterable<string> {
    return this.stream("/v1/export.jsonl", query, options);
  }

  /** Return numbers and volume of orders by day of their creation (UTC) and token. */
  getStatistics(query: GetStatisticsQuery = {}, options: RequestOptions = {}): Promise<Statistics> {
    return this.get("/v1/statistics", query, options);
  }

  /** Refund an unmatched transfer to its sender, and record that as its resolution. */
  refundUnmatchedTransfer(transaction: string, position: number, body: NewTransferRefund = {}, options: PostOptions = {}): Promise<RefundDetail> {
    return this.post(`/v1/unmatched-transfers/${segment(transaction)}/${segment(position)}/refund`, body, options);
  }

  /** Register a target, which receives events from now on. */
  createWebhook(body: NewWebhook, options: PostOptions = {}): Promise<WebhookSecret> {
    return this.post("/v1/webhooks", body, options);
  }

  /** List all targets. */
  listWebhooks(options: RequestOptions = {}): Promise<Webhooks> {
    return this.get("/v1/webhooks", {}, options);
  }

  /** Send no further events to a target, and drop its pending deliveries. */
  retireWebhook(webhookId: string, options: PostOptions = {}): Promise<Webhook> {
    return this.post(`/v1/webhooks/${segment(webhookId)}/retire`, {}, options);
  }

  /** Change the URL or the event types of a registered target. */
  updateWebhook(webhookId: string, body: WebhookChange = {}, options: PostOptions = {}): Promise<Webhook> {
    return this.post(`/v1/webhooks/${segment(webhookId)}/update`, body, options);
  }

  /** Replace the secret of a registered target; the replaced one signs as well for a while. */
  rotateWebhookSecret(webhookId: string, body: SecretRotation = {}, options: PostOptions = {}): Promise<WebhookSecret> {
    return this.post(`/v1/webhooks/${segment(webhookId)}/rotate-secret`, body, options);
  }

  /** Send the event webhook.test to one target. */
  testWebhook(webhookId: string, options: PostOptions = {}): Promise<Delivery> {
    return this.post(`/v1/webhooks/${segment(webhookId)}/test`, {}, options);
  }

  /** List deliveries to targets, newest first. */
  listDeliveries(query: ListDeliveriesQuery = {}, options: RequestOptions = {}): Promise<DeliveryPage> {
    return this.get("/v1/deliveries", query, options);
  }

  /** Iterate over all pages of `listDeliveries`; `limit` is the size of a page. */
  iterDeliveries(query: Omit<ListDeliveriesQuery, "cursor"> = {}, options: RequestOptions = {}): AsyncIterable<Delivery> {
    return this.iterate("/v1/deliveries", query, options);
  }

  /** Retry a dead delivery. */
  retryDelivery(deliveryId: number, options: PostOptions = {}): Promise<Delivery> {
    return this.post(`/v1/deliveries/${segment(deliveryId)}/retry`, {}, options);
  }

  /** Create an API key; only the first response contains it. */
  createApiKey(body: NewApiKey, options: PostOptions = {}): Promise<ApiKeySecret> {
    return this.post("/v1/api-keys", body, options);
  }

  /** List all API keys without their secrets. */
  listApiKeys(options: RequestOptions = {}): Promise<ApiKeys> {
    return this.get("/v1/api-keys", {}, options);
  }

  /** Revoke an API key, and end its sessions. */
  revokeApiKey(apiKeyId: string, options: PostOptions = {}): Promise<ApiKey> {
    return this.post(`/v1/api-keys/${segment(apiKeyId)}/revoke`, {}, options);
  }

  /** Return the health of the service. */
  getHealth(options: RequestOptions = {}): Promise<Health> {
    return this.get("/healthz", {}, options, true);
  }
}
