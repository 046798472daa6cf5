// Types of the service's responses, from its generated client.

/** @typedef {import('../merchant-client/src/types.js').Order} Order */
/** @typedef {import('../merchant-client/src/types.js').OrderDetail} OrderDetail */
/** @typedef {import('../merchant-client/src/types.js').OrderPage} OrderPage */
/** @typedef {import('../merchant-client/src/types.js').Timeline} Timeline */
/** @typedef {import('../merchant-client/src/types.js').Refund} Refund */
/** @typedef {import('../merchant-client/src/types.js').RefundPage} RefundPage */
/** @typedef {import('../merchant-client/src/types.js').Payout} Payout */
/** @typedef {import('../merchant-client/src/types.js').PayoutPage} PayoutPage */
/** @typedef {import('../merchant-client/src/types.js').PayoutDetail} PayoutDetail */
/** @typedef {import('../merchant-client/src/types.js').PayoutPreview} PayoutPreview */
/** @typedef {import('../merchant-client/src/types.js').Transaction} Transaction */
/** @typedef {import('../merchant-client/src/types.js').UnmatchedTransfer} UnmatchedTransfer */
/** @typedef {import('../merchant-client/src/types.js').UnmatchedTransferPage} UnmatchedTransferPage */
/** @typedef {import('../merchant-client/src/types.js').Webhook} Webhook */
/** @typedef {import('../merchant-client/src/types.js').Webhooks} Webhooks */
/** @typedef {import('../merchant-client/src/types.js').WebhookSecret} WebhookSecret */
/** @typedef {import('../merchant-client/src/types.js').Delivery} Delivery */
/** @typedef {import('../merchant-client/src/types.js').DeliveryPage} DeliveryPage */
/** @typedef {import('../merchant-client/src/types.js').ApiKey} ApiKey */
/** @typedef {import('../merchant-client/src/types.js').ApiKeys} ApiKeys */
/** @typedef {import('../merchant-client/src/types.js').ApiKeySecret} ApiKeySecret */
/** @typedef {import('../merchant-client/src/types.js').Statistics} Statistics */
/** @typedef {import('../merchant-client/src/types.js').DayStatistics} DayStatistics */
/** @typedef {import('../merchant-client/src/types.js').Health} Health */

/** @typedef {{name: string, symbol: string, decimals: number, pays_out: boolean}} Destination */
/**
 * @typedef {{key: {id: string, name: string, role: string}, csrf_token: string, expires: number, idle_seconds: number,
 *   margin_seconds: number, permissions: string[], merchant: string | null, chain_id: number, explorer_url: string | null,
 *   destinations: Destination[]}} Session
 */

export {};
