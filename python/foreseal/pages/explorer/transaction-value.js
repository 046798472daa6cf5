// The value of a transaction in a list: its ether, or else its first token transfer.

import { Ether } from '../lib/components/amount.js';
import { useRequest } from '../lib/components/request.js';
import { html, useMemo } from '../lib/components/ui.js';
import { checksumAddress } from '../lib/address.js';
import { shortHex } from '../lib/values.js';
import { router, rpc } from './context.js';
import { paths } from './paths.js';
import { TransferValue } from './token-amount.js';
import { TokenQueue } from './token-queue.js';
import { cachedToken, loadToken, transfersOf } from './tokens.js';

/** @typedef {import('./transfer-topics.js').FirstTransfer} FirstTransfer */

const queue = new TokenQueue();

/** @param {string} address @param {AbortSignal} signal */
const readToken = (address, signal) => cachedToken(address) ?? queue.read((token) => loadToken(rpc, token), address, signal);

/** @param {{found: FirstTransfer, transfer: import('./tokens.js').Transfer}} props */
function TokenValue({ found: { log, hasMore }, transfer }) {
  const token = log.address;
  const request = useRequest((signal) => readToken(token, signal), [token]);
  const name = checksumAddress(token);
  return html`<span class="token"><${TransferValue} transfer=${transfer} request=${request} />${' '}
    <a href=${router.href(paths.address(token))} title=${name}><strong>${request.data?.symbol ?? shortHex(name)}</strong></a>
    ${hasMore && html`<span class="muted"> and more</span>`}</span>`;
}

/** @param {{value: string, found: FirstTransfer | null}} props */
export function TransactionValue({ value, found }) {
  const transfer = useMemo(() => (found === null ? null : transfersOf(found.log)[0] ?? null), [found]);
  if (BigInt(value) > 0n || found === null || transfer === null) return html`<${Ether} value=${value} digits=${4} />`;
  return html`<${TokenValue} found=${found} transfer=${transfer} />`;
}
