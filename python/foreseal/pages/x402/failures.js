// One sentence for each failure of a payment.

import { visibleText } from '../lib/text.js';
import { WalletError } from '../lib/wallet.js';
import { PaymentError } from './resource.js';

/** @type {Record<string, (detail: string) => string>} */
const SENTENCES = {
  rejected: () => 'You rejected the request in the wallet. Nothing was paid.',
  wrong_network: () => 'Your wallet is on another network. Switch it, then pay again.',
  no_account: () => 'The wallet shared no account. Choose an account in the wallet, then try again.',
  locked: () => 'The wallet is locked, or an earlier request waits in it. Open the wallet, then try again.',
  unsupported: () => 'This wallet cannot sign the payment. Use another wallet.',
  account_changed: () => 'The wallet changed its account. Check the account, then pay again.',
  changed: () => 'The price changed while you looked at it. Nothing was signed; reload the page.',
  no_option: () => 'This resource accepts no payment that a browser wallet can sign. Use a client of x402.',
  unavailable: (status) => `The seller cannot accept payments now (status ${status}). Try again in a moment.`,
  unreachable: () => 'The seller cannot be reached. Check your connection, then try again.',
  undecided: () => 'The payment is signed, but its outcome is open. Try again: the same payment is never charged twice.',
  not_charged: (status) => `The seller returned an error (status ${status}). Nothing was charged.`,
  refused: (reason) => (reason.includes('insufficient')
    ? 'This account has too little of the token. Nothing was paid.'
    : `The seller did not accept the payment: ${reason}.`),
  failed: (detail) => `The payment failed${detail ? `: ${detail}` : ''}. Nothing was paid; try again.`,
};

/** @param {unknown} error */
export function sentence(error) {
  const detail = error instanceof PaymentError ? error.detail : error instanceof Error ? visibleText(error.message, 200) : '';
  const code = error instanceof PaymentError || error instanceof WalletError ? error.code : 'failed';
  return (SENTENCES[code] ?? /** @type {(typeof SENTENCES)[string]} */ (SENTENCES['failed']))(detail);
}
