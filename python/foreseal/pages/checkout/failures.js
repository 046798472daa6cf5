// One sentence for each failure of a payment.

import { visibleText } from '../lib/text.js';
import { WalletError } from '../lib/wallet.js';
import { CheckoutError } from './api.js';

/** @typedef {import('./api.js').CheckoutOrder} CheckoutOrder */
/** @typedef {{code: string, detail?: string}} Failure */

/** @type {Record<string, (order: CheckoutOrder | null, detail: string) => string>} */
const SENTENCES = {
  wrong_network: (order) => `Your wallet is on another network. Switch it to ${networkName(order)} to pay.`,
  network_unavailable: (order) => `Your wallet does not have ${networkName(order)}. Add the network in the wallet, then try again.`,
  insufficient_balance: (order, balance) => `This account has ${balance || 'too little'}; the order costs ${order ? visibleText(order.amount_shown, 60) : 'more'}.`,
  order_expired: () => 'This order has expired. Go back to the shop and order again.',
  order_canceled: () => 'The shop has canceled this order. Nothing will be charged.',
  rejected: () => 'You rejected the request in the wallet. Nothing was paid.',
  already_paid: () => 'This order is already paid.',
  already_authorized: () => 'Someone has already authorized the payment of this order.',
  paid_elsewhere: () => 'This order was paid in another tab or on another device.',
  locked: () => 'The wallet is locked, or an earlier request waits in it. Open the wallet, then try again.',
  no_account: () => 'The wallet shared no account. Choose an account in the wallet, then try again.',
  account_changed: () => 'The wallet changed its account. Check the account, then pay again.',
  payer_mismatch: () => 'This order is for another account. Choose that account in the wallet.',
  invalid_value: () => 'This account cannot pay this order. Choose another account in the wallet.',
  invalid_signature: () => 'The signature is not valid for this account. Try again, or use another wallet.',
  unreachable: () => 'The payment service cannot be reached. Check your connection; the page tries again.',
  database_unavailable: () => 'The payment service cannot be reached. Check your connection; the page tries again.',
  node_unreachable: () => 'The payment service cannot reach the network now. Nothing is lost; try again in a moment.',
  node_behind: () => 'The network is behind. A payment may take longer than usual.',
  amount_changed: () => 'The terms of the order changed while you looked at it. Nothing was signed; reload the page.',
  unsupported: () => 'This wallet cannot sign the payment. Use another wallet.',
  too_many_requests: (_, seconds) => `Too many attempts. Wait ${seconds || 'a few'} seconds, then try again.`,
  overloaded: () => 'Many people pay at this moment. Try again in a few seconds.',
  not_found: () => 'This payment link is not valid. Open the complete link from the shop.',
  failed: (_, detail) => `The payment failed${detail ? `: ${detail}` : ''}. Nothing was paid; try again.`,
};

/** @param {CheckoutOrder | null} order */
const networkName = (order) => (order ? visibleText(order.network.name, 60) : 'the right network');

/**
 * Returns the failure behind an error.
 * @param {unknown} error
 * @returns {Failure}
 */
export function failureOf(error) {
  if (error instanceof CheckoutError) {
    if (error.code === 'too_many_requests') return { code: error.code, detail: String(error.retryAfter || '') };
    return error.code in SENTENCES ? { code: error.code } : { code: 'failed', detail: visibleText(error.message, 200) };
  }
  if (error instanceof WalletError) {
    return error.code === 'failed' ? { code: 'failed', detail: visibleText(error.message, 200) } : { code: error.code };
  }
  return { code: 'failed', detail: error instanceof Error ? visibleText(error.message, 200) : '' };
}

/** @param {Failure} failure @param {CheckoutOrder | null} order */
export function sentence({ code, detail = '' }, order) {
  return (SENTENCES[code] ?? /** @type {(typeof SENTENCES)[string]} */ (SENTENCES['failed']))(order, detail);
}
