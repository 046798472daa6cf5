// Comparison of what a wallet would sign with what the page shows.

import { isSameAddress } from '../lib/address.js';

/** @typedef {import('./api.js').CheckoutOrder} CheckoutOrder */

/**
 * Returns true if the typed data pays what the page shows: amount, token, network, payer and receiver.
 * @param {any} data
 * @param {CheckoutOrder} order
 * @param {string} payer
 */
export function matchesTerms(data, order, payer) {
  const { domain, message, primaryType } = data ?? {};
  if (!domain || !message || Number(domain.chainId) !== order.network.chain_id) return false;
  const isPermit = order.is_maximum;
  if (primaryType !== (isPermit ? 'Permit' : 'ReceiveWithAuthorization')) return false;
  const receiver = isPermit ? order.spender : order.payee;
  return (
    String(message.value) === order.amount &&
    same(domain.verifyingContract, order.token.address) &&
    same(isPermit ? message.owner : message.from, payer) &&
    same(isPermit ? message.spender : message.to, receiver)
  );
}

/** @param {unknown} one @param {unknown} other */
const same = (one, other) => typeof one === 'string' && typeof other === 'string' && isSameAddress(one, other);
