// Reads of an account at a block or at a step.

import { checksumAddress } from '../lib/address.js';
import { ErrorNotice, Loaded } from '../lib/components/errors.js';
import { Ether, Integer } from '../lib/components/amount.js';
import { TextField } from '../lib/components/field.js';
import { Hash } from '../lib/components/hash.js';
import { useRequest } from '../lib/components/request.js';
import { Facts } from '../lib/components/table.js';
import { html, useState } from '../lib/components/ui.js';
import { byteLength, isAddress, isHash, isQuantity, toQuantity } from '../lib/values.js';
import { router, rpc } from './context.js';
import { blockParameter } from './links.js';
import { paths } from './paths.js';

/** @typedef {import('./links.js').StateAt} StateAt */

const SLOT_FORMS = 'A decimal number, a quantity in hex, or 32 bytes.';

/**
 * Parses a storage position: a decimal number, a quantity or 32 bytes.
 * @param {string} text
 * @returns {string | null}
 */
export function parseSlot(text) {
  const trimmed = text.trim();
  if (/^\d{1,78}$/.test(trimmed)) return toQuantity(BigInt(trimmed));
  return isHash(trimmed) || isQuantity(trimmed) ? trimmed : null;
}

/** @typedef {{balance: string, nonce: string}} Balance */
/** @typedef {Balance & {code: string}} Account */

/**
 * Returns balance and nonce of an account at a position.
 * @param {string} address
 * @param {unknown} block parameter of JSON-RPC
 * @param {AbortSignal} signal
 * @returns {Promise<Balance>}
 */
export async function loadBalance(address, block, signal) {
  const methods = ['eth_getBalance', 'eth_getTransactionCount'];
  const [balance, nonce] = await Promise.all(methods.map((method) => rpc.call(method, [address, block], { signal })));
  return { balance, nonce };
}

/** @param {string} address @param {unknown} block @param {AbortSignal} signal @returns {Promise<Account>} */
async function loadAccount(address, block, signal) {
  const reading = rpc.call('eth_getCode', [address, block], { signal });
  const [balance, code] = await Promise.all([loadBalance(address, block, signal), reading]);
  return { ...balance, code };
}

/** @param {{address: string, at: StateAt}} props */
function AccountAt({ address, at }) {
  const block = blockParameter(at);
  const request = useRequest((signal) => loadAccount(address, block, signal), [address, at.block, at.step]);
  const query = at.step === null ? `?block=${BigInt(at.block)}` : `?block=${BigInt(at.block)}&step=${at.step}`;
  const href = router.href(paths.address(checksumAddress(address)) + query);
  return html`<${Loaded} request=${request}>${(/** @type {Account} */ account) => html`
    <${Facts} rows=${[
      ['Balance', html`<${Ether} value=${account.balance} digits=${18} />`],
      ['Nonce', html`<${Integer} value=${account.nonce} />`],
      ['Code', account.code === '0x' ? 'none' : `${byteLength(account.code)} bytes`],
      ['More', html`<a href=${href}>Open the account at this position</a>`],
    ]} />`}
  </${Loaded}>`;
}

/** Form that reads an account at a position. @param {{at: StateAt}} props */
export function StateReader({ at }) {
  const [text, setText] = useState('');
  const address = text.trim();
  const isInvalid = address !== '' && !isAddress(address);
  return html`<div class="stack">
    <${TextField} label="Address" value=${text} onChange=${setText} placeholder="0x…" isCode=${true}
      error=${isInvalid ? 'Write 0x and 40 hex digits.' : null} />
    ${isAddress(address) && html`<${AccountAt} address=${address} at=${at} />`}
  </div>`;
}

/** Form that reads a storage slot of a contract. @param {{address: string, at: StateAt}} props */
export function StorageReader({ address, at }) {
  const [text, setText] = useState('0');
  const slot = parseSlot(text);
  const request = useRequest(async (signal) => {
    if (slot === null) return null;
    return rpc.call('eth_getStorageAt', [address, slot, blockParameter(at)], { signal });
  }, [address, slot, at.block, at.step]);
  return html`<div class="stack">
    <${TextField} label="Storage position" value=${text} onChange=${setText} isCode=${true} hint=${SLOT_FORMS}
      error=${slot === null ? SLOT_FORMS : null} />
    ${request.error && html`<${ErrorNotice} error=${request.error} onRetry=${request.reload} />`}
    ${slot !== null && request.data && html`<${Facts} rows=${[
      ['Word', html`<${Hash} value=${request.data} full=${true} />`],
      ['As a number', html`<span class="number">${BigInt(request.data).toString()}</span>`],
    ]} />`}
  </div>`;
}
