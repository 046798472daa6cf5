// Reads of an account at a block or at a step.

import { checksumAddress } from '../lib/address.js';
import { ErrorNotice, Loaded } from '../lib/components/errors.js';
import { Ether, Integer } from '../lib/components/amount.js';
import { Hash } from '../lib/components/hash.js';
import { useRequest } from '../lib/components/request.js';
import { Facts } from '../lib/components/table.js';
import { html, onValue, useId, useState } from '../lib/components/ui.js';
import { byteLength, isAddress, isHash, isQuantity, toQuantity } from '../lib/values.js';
import { router, rpc } from './context.js';
import { blockParameter } from './links.js';
import { paths } from './paths.js';

/** @typedef {import('./links.js').StateAt} StateAt */

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

/** @param {{address: string, at: StateAt}} props */
function AccountAt({ address, at }) {
  const block = blockParameter(at);
  const request = useRequest(async (signal) => {
    const read = (/** @type {string} */ method) => rpc.call(method, [address, block], { signal });
    const [balance, nonce, code] = await Promise.all([read('eth_getBalance'), read('eth_getTransactionCount'), read('eth_getCode')]);
    return { balance, nonce, code };
  }, [address, at.block, at.step]);
  const query = at.step === null ? `?block=${BigInt(at.block)}` : `?block=${BigInt(at.block)}&step=${at.step}`;
  return html`<${Loaded} request=${request}>${(/** @type {{balance: string, nonce: string, code: string}} */ account) => html`
    <${Facts} rows=${[
      ['Balance', html`<${Ether} value=${account.balance} digits=${18} />`],
      ['Nonce', html`<${Integer} value=${account.nonce} />`],
      ['Code', account.code === '0x' ? 'none' : `${byteLength(account.code)} bytes`],
      ['More', html`<a href=${router.href(paths.address(checksumAddress(address)) + query)}>Open the account at this position</a>`],
    ]} />`}
  </${Loaded}>`;
}

/** Form that reads an account at a position. @param {{at: StateAt}} props */
export function StateReader({ at }) {
  const id = useId();
  const [text, setText] = useState('');
  const address = text.trim();
  const isInvalid = address !== '' && !isAddress(address);
  return html`<div class="stack">
    <div class="field">
      <label for=${id}>Address</label>
      <input id=${id} class="input mono" value=${text} spellcheck="false" autocomplete="off" placeholder="0x…"
        aria-invalid=${isInvalid ? 'true' : undefined} aria-describedby=${isInvalid ? `${id}-error` : undefined}
        onInput=${onValue(setText)} />
      ${isInvalid && html`<p class="field-error" id=${`${id}-error`}>Write 0x and 40 hex digits.</p>`}
    </div>
    ${isAddress(address) && html`<${AccountAt} address=${address} at=${at} />`}
  </div>`;
}

/** Form that reads a storage slot of a contract. @param {{address: string, at: StateAt}} props */
export function StorageReader({ address, at }) {
  const id = useId();
  const [text, setText] = useState('0');
  const slot = parseSlot(text);
  const request = useRequest(
    async (signal) => (slot === null ? null : rpc.call('eth_getStorageAt', [address, slot, blockParameter(at)], { signal })),
    [address, slot, at.block, at.step],
  );
  return html`<div class="stack">
    <div class="field">
      <label for=${id}>Storage position</label>
      <input id=${id} class="input mono" value=${text} spellcheck="false" autocomplete="off" aria-describedby=${`${id}-hint`}
        onInput=${onValue(setText)} />
      <p class=${slot === null ? 'field-error' : 'field-hint'} id=${`${id}-hint`}>A decimal number, a quantity in hex, or 32 bytes.</p>
    </div>
    ${request.error && html`<${ErrorNotice} error=${request.error} onRetry=${request.reload} />`}
    ${slot !== null && request.data && html`<${Facts} rows=${[
      ['Word', html`<${Hash} value=${request.data} full=${true} />`],
      ['As a number', html`<span class="number">${BigInt(request.data).toString()}</span>`],
    ]} />`}
  </div>`;
}
