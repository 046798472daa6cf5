// Types of the service's responses, which `make merchant-client` generates.

/** @typedef {import('../merchant-client/src/api.js').Order} Order */
/** @typedef {import('../merchant-client/src/api.js').OrderDetail} OrderDetail */
/** @typedef {import('../merchant-client/src/api.js').OrderPage} OrderPage */
/** @typedef {import('../merchant-client/src/api.js').Timeline} Timeline */
/** @typedef {import('../merchant-client/src/api.js').Refund} Refund */
/** @typedef {import('../merchant-client/src/api.js').RefundPage} RefundPage */
/** @typedef {import('../merchant-client/src/api.js').Payout} Payout */
/** @typedef {import('../merchant-client/src/api.js').PayoutPage} PayoutPage */
/** @typedef {import('../merchant-client/src/api.js').PayoutDetail} PayoutDetail */
/** @typedef {import('../merchant-client/src/api.js').PayoutPreview} PayoutPreview */
/** @typedef {import('../merchant-client/src/api.js').Transaction} Transaction */
/** @typedef {import('../merchant-client/src/api.js').UnmatchedTransfer} UnmatchedTransfer */
/** @typedef {import('../merchant-client/src/api.js').UnmatchedTransferPage} UnmatchedTransferPage */
/** @typedef {import('../merchant-client/src/api.js').Webhook} Webhook */
/** @typedef {import('../merchant-client/src/api.js').Webhooks} Webhooks */
/** @typedef {import('../merchant-client/src/api.js').WebhookSecret} WebhookSecret */
/** @typedef {import('../merchant-client/src/api.js').Delivery} Delivery */
/** @typedef {import('../merchant-client/src/api.js').DeliveryPage} DeliveryPage */
/** @typedef {import('../merchant-client/src/api.js').ApiKey} ApiKey */
/** @typedef {import('../merchant-client/src/api.js').ApiKeys} ApiKeys */
/** @typedef {import('../merchant-client/src/api.js').ApiKeySecret} ApiKeySecret */
/** @typedef {import('../merchant-client/src/api.js').Statistics} Statistics */
/** @typedef {import('../merchant-client/src/api.js').DayStatistics} DayStatistics */
/** @typedef {import('../merchant-client/src/api.js').Health} Health */

/** @typedef {{name: string, symbol: string, decimals: number, pays_out: boolean}} Destination */
/**
 * @typedef {{key: {id: string, name: string, role: string}, csrf_token: string, expires: number, idle_seconds: number,
 *   margin_seconds: number, permissions: string[], merchant: string | null, chain_id: number,
 *   explorer_url: string | null, destinations: Destination[]}} Session
 */

export {};
