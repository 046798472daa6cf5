// Links between the pages.

import { Hash } from '../lib/components/hash.js';
import { html } from '../lib/components/ui.js';
import { formatInteger, toQuantity } from '../lib/values.js';
import { fixedContractName } from './abis.js';
import { router } from './context.js';
import { paths } from './paths.js';

/**
 * Block and step that reads refer to. `step` is null for the whole block.
 * @typedef {{block: string, step: number | null}} StateAt
 */

/** @param {{number: number}} props */
export function BlockLink({ number }) {
  return html`<a class="number" href=${router.href(paths.block(number))}>${formatInteger(number)}</a>`;
}

/** @param {{number: number, index: number, label?: string}} props */
export function StepLink({ number, index, label }) {
  return html`<a class="number" href=${router.href(paths.step(number, index))}>${label ?? `step ${index}`}</a>`;
}

/** @param {{hash: string, full?: boolean, copy?: boolean}} props */
export function TransactionLink({ hash, full = false, copy = true }) {
  return html`<${Hash} value=${hash} href=${router.href(paths.transaction(hash))} full=${full} copy=${copy} />`;
}

/** @param {{address: string, full?: boolean, copy?: boolean}} props */
export function AddressLink({ address, full = false, copy = true }) {
  const name = fixedContractName(address);
  const href = router.href(paths.address(address));
  return html`<${Hash} value=${address} href=${href} full=${full} copy=${copy} />
    ${name && html`<span class="muted"> ${name}</span>`}`;
}

/**
 * Returns the block parameter of JSON-RPC.
 * @param {StateAt} at
 */
export const blockParameter = ({ block, step }) =>
  step === null ? block : { blockNumber: block, flashblockIndex: toQuantity(step) };

/**
 * Returns the block parameter for a number, and for a step of it.
 * @param {number} number
 * @param {number | null} step
 */
export const stateAt = (number, step) => ({ block: toQuantity(number), step });
