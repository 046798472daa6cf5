// Values of the service as people read them. Everything that shoppers or merchants wrote is rendered as text.

import { Hash } from '../lib/components/hash.js';
import { Badge } from '../lib/components/table.js';
import { html } from '../lib/components/ui.js';
import { visibleName } from '../lib/text.js';
import { formatInteger, formatTokens, parseUnits } from '../lib/values.js';
import { currentSession, segment } from './api.js';
import { router } from './context.js';
import { orderStatusOf, statusOf } from './states.js';

/** @param {{shown: import('./states.js').ShownStatus}} props */
function Words({ shown: { label, tone, more, hint } }) {
  return html`<span><${Badge} tone=${tone}>${label}</${Badge}>
    ${more && html`<span class="muted" title=${hint ?? undefined}> ${more}</span>`}</span>`;
}

/** Status of a refund or a payout. @param {import('./states.js').StatusFields} props */
export function Status(props) {
  return html`<${Words} shown=${statusOf(props)} />`;
}

/** Status of an order, with its refunds. @param {{order: import('./types.js').Order}} props */
export function OrderStatus({ order }) {
  return html`<${Words} shown=${orderStatusOf(order)} />`;
}

/** Returns the address of a page of the explorer; undefined without one. @param {string} path */
function explorerPage(path) {
  const base = currentSession().explorer_url;
  return base === null ? undefined : `${base.replace(/\/$/, '')}${path}`;
}

/** A link to a transaction in the explorer, if one is configured. @param {{hash: string}} props */
export function TransactionHash({ hash }) {
  return html`<${Hash} value=${hash} href=${explorerPage(`/tx/${segment(hash)}`)} />`;
}

/** A link to a block in the explorer, if one is configured. @param {{hash: string}} props */
export function BlockHash({ hash }) {
  return html`<${Hash} value=${hash} href=${explorerPage(`/block/${segment(hash)}`)} />`;
}

/** A link to a block in the explorer, if one is configured. @param {{number: number}} props */
export function BlockNumber({ number }) {
  const href = explorerPage(`/block/${number}`);
  const text = formatInteger(number);
  return href === undefined ? html`<span class="number">${text}</span>` : html`<a class="number" href=${href}>${text}</a>`;
}

/** @param {{address: string}} props */
export function Account({ address }) {
  return html`<${Hash} value=${address} href=${explorerPage(`/address/${segment(address)}`)} />`;
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
