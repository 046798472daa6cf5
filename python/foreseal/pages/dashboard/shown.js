// Values of the service as people read them. Everything that shoppers or merchants wrote is rendered as text.

import { Hash } from '../lib/components/hash.js';
import { Badge } from '../lib/components/table.js';
import { html } from '../lib/components/ui.js';
import { visibleName } from '../lib/text.js';
import { formatTokens, parseUnits } from '../lib/values.js';
import { currentSession, segment } from './api.js';
import { router } from './context.js';

/** @typedef {'neutral' | 'live' | 'good' | 'bad' | 'warn'} Tone */

/** @type {Record<string, {label: string, tone: Tone}>} */
const STATES = {
  Drafted: { label: 'Waits for a signature', tone: 'neutral' },
  'Signed, unused': { label: 'Signed', tone: 'live' },
  'Stored, unused': { label: 'Authorized', tone: 'live' },
  'Used, captured': { label: 'Captured', tone: 'good' },
  'Voided offchain': { label: 'Voided', tone: 'neutral' },
  Canceled: { label: 'Canceled', tone: 'neutral' },
  Expired: { label: 'Expired', tone: 'bad' },
  Reserved: { label: 'Reserved', tone: 'live' },
  Broadcast: { label: 'Sent', tone: 'live' },
  Complete: { label: 'Complete', tone: 'good' },
  Blocked: { label: 'Blocked', tone: 'bad' },
};

export const ORDER_STATES = Object.keys(STATES).slice(0, 7).map((value) => ({ value, label: STATES[value]?.label ?? value }));

/** @param {{state: string, finality: string | null, tx_status: string | null}} props */
export function Status({ state, finality, tx_status }) {
  const { label, tone } = STATES[state] ?? { label: state, tone: 'neutral' };
  const more = finality ?? (tx_status === null ? null : `transaction ${tx_status}`);
  return html`<span><${Badge} tone=${tx_status === 'failed' ? 'bad' : tone}>${label}</${Badge}>
    ${more && html`<span class="muted"> ${more}</span>`}</span>`;
}

/** A link to a transaction in the explorer, if one is configured. @param {{hash: string}} props */
export function TransactionHash({ hash }) {
  const base = currentSession().explorer_url;
  return html`<${Hash} value=${hash} href=${base === null ? undefined : `${base.replace(/\/$/, '')}/tx/${segment(hash)}`} />`;
}

/** @param {{address: string}} props */
export function Account({ address }) {
  const base = currentSession().explorer_url;
  const href = base === null ? undefined : `${base.replace(/\/$/, '')}/address/${segment(address)}`;
  return html`<${Hash} value=${address} href=${href} />`;
}

/** @param {{id: string}} props */
export function OrderLink({ id }) {
  return html`<a href=${router.href(`/orders/${segment(id)}`)}>${visibleName(id, 40)}</a>`;
}

/** Returns the decimals of a destination's token; null if it is not configured. @param {string | null} name */
export function decimalsOf(name) {
  return currentSession().destinations.find((each) => each.name === name)?.decimals ?? null;
}

/**
 * Returns an amount in smallest units as the text of a field.
 * @param {bigint} amount @param {number} decimals
 */
export const amountText = (amount, decimals) => formatTokens(amount, decimals).replaceAll('\u202f', '');

/**
 * Returns smallest units, or null if the text is no positive amount.
 * @param {string} text @param {number} decimals
 */
export function parseAmount(text, decimals) {
  try {
    const amount = parseUnits(text, decimals);
    return amount > 0n ? amount : null;
  } catch {
    return null;
  }
}
