// Short displays of blocks and transactions that several pages share.

import { Meter } from '../lib/components/amount.js';
import { Badge } from '../lib/components/table.js';
import { html } from '../lib/components/ui.js';
import { parseCount } from '../lib/values.js';
import { AddressLink } from './links.js';

/** Recipient of a transaction. @param {{to: string | null | undefined, full?: boolean}} props */
export function Recipient({ to, full = false }) {
  if (!to) return html`<span class="muted">new contract</span>`;
  return html`<${AddressLink} address=${to} full=${full} copy=${full} />`;
}

/** Result of a transaction. @param {{isSuccess: boolean | null}} props */
export function ResultBadge({ isSuccess }) {
  if (isSuccess === null) return null;
  return isSuccess ? html`<${Badge} tone="good">success</${Badge}>` : html`<${Badge} tone="bad">reverted</${Badge}>`;
}

/** @param {Record<string, any> | null} receipt */
export const isSuccessful = (receipt) => (receipt === null ? null : receipt['status'] !== '0x0');

/** Gas of a block as a share of its limit. @param {{header: Record<string, any>}} props */
export function GasMeter({ header }) {
  const [used, limit] = [parseCount(header['gasUsed']), parseCount(header['gasLimit'])];
  return html`<${Meter} used=${used} limit=${limit} label="Gas used of the limit" />`;
}
