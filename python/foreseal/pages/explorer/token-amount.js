// Amounts of tokens, with the names that their contracts report. Anyone can choose a name, so the contract is shown
// next to it.

import { useRequest } from '../lib/components/request.js';
import { html } from '../lib/components/ui.js';
import { formatInteger, formatTokens } from '../lib/values.js';
import { rpc } from './context.js';
import { AddressLink } from './links.js';
import { loadToken } from './tokens.js';

/** @typedef {import('./tokens.js').Transfer} Transfer */

/** @param {{address: string}} props */
export function TokenName({ address }) {
  const request = useRequest(() => loadToken(rpc, address), [address]);
  const symbol = request.data?.symbol;
  return html`<span class="token">${symbol && html`<strong>${symbol} </strong>`}
    <${AddressLink} address=${address} copy=${false} /></span>`;
}

/** @param {{transfer: Transfer, token: string}} props */
export function TransferAmount({ transfer, token }) {
  const request = useRequest(() => loadToken(rpc, token), [token]);
  return html`<${TransferValue} transfer=${transfer} request=${request} />`;
}

/**
 * The amount of a transfer, once its token is read.
 * @param {{transfer: Transfer, request: {data: import('./tokens.js').Token | null, error: unknown}}} props
 */
export function TransferValue({ transfer, request }) {
  const { amount, id, standard } = transfer;
  // Without its decimals an amount would be wrong for a moment.
  if (standard === 'ERC-20' && !request.data && !request.error) return html`<span class="number">…</span>`;
  // The amounts of the other standards count tokens.
  const decimals = standard === 'ERC-20' ? request.data?.decimals ?? null : 0;
  const shown = amount === null ? '' : formatTokens(amount, decimals);
  if (id === null) return html`<span class="number">${shown}</span>`;
  return html`<span class="number">${amount === null ? '' : `${shown} of `}<span class="muted">id </span>${formatInteger(id)}</span>`;
}
