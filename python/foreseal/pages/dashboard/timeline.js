// Timeline of an order and its refunds: each event with its time, its amount and its transaction.

import { Hash } from '../lib/components/hash.js';
import { Panel } from '../lib/components/table.js';
import { Timestamp } from '../lib/components/time.js';
import { html } from '../lib/components/ui.js';
import { visibleName, visibleText } from '../lib/text.js';
import { formatTokens, isHash } from '../lib/values.js';
import { Account, BlockHash, BlockNumber, decimalsOf, TransactionHash } from './shown.js';

/** @typedef {import('./types.js').Order} Order */
/** @typedef {import('./types.js').Timeline} Timeline */
/** @typedef {Timeline['items'][number]} TimelineEvent */
/** @typedef {Record<string, unknown>} Details */

const UNITS = /^\d{1,78}$/;
/** Details that are shown in a form of their own. */
const SHOWN_DETAILS = ['amount', 'transaction', 'block', 'block_number'];

/** Returns the name of an event: `Capture submitted`, `Refund completed`. @param {string} type */
export function eventName(type) {
  const name = type.replace(/^order\./, '').replaceAll(/[._]/g, ' ');
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/**
 * Returns the text of a detail; values that are null are left out.
 * @param {unknown} value
 * @returns {string}
 */
export function detailText(value) {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(detailText).filter((text) => text !== '').join(', ');
  if (typeof value !== 'object') return String(value);
  return Object.entries(value).map(([name, each]) => [name.replaceAll('_', ' '), detailText(each)])
    .filter(([, text]) => text !== '').map(([name, text]) => `${name} ${text}`).join(', ');
}

/**
 * Returns the amount that an event is about. The event of a capture has the maximum that its order permits; the
 * transfer has the captured amount.
 * @param {TimelineEvent} event @param {Order} order
 */
function amountOf({ data: { object, details } }, order) {
  const { amount, transaction } = /** @type {Details} */ (details);
  const decimals = decimalsOf(order.destination);
  if (typeof amount === 'string' && UNITS.test(amount) && decimals !== null) {
    return `${formatTokens(BigInt(amount), decimals)} ${visibleName(order.symbol ?? '')}`;
  }
  if (object.object === 'order' && order.checkout !== null) {
    const isPaying = order.payment !== null && order.payment.transaction_hash === transaction;
    return isPaying && order.payment !== null ? visibleName(order.payment.amount_shown, 60) : `up to ${visibleName(order.amount_shown, 60)}`;
  }
  return 'amount_shown' in object ? visibleName(object.amount_shown, 60) : null;
}

/** @param {{name: string, value: unknown}} props */
function Detail({ name, value }) {
  const text = detailText(value);
  if (text === '') return null;
  return html`<div><dt>${visibleName(name.replaceAll('_', ' '))}</dt>
    <dd>${isHash(value) ? html`<${Hash} value=${value} />` : visibleText(text)}</dd></div>`;
}

/** @param {{event: TimelineEvent, order: Order}} props */
function Entry({ event, order }) {
  const details = /** @type {Details} */ (event.data.details);
  const { object } = event.data;
  const { transaction, block, block_number: number } = details;
  const names = Object.keys(details).filter((name) => !SHOWN_DETAILS.includes(name));
  return html`<li>
    <div class="timeline-head"><strong>${visibleName(eventName(event.type))}</strong>
      <span class="amount">${amountOf(event, order)}</span>
      <span class="muted"><${Timestamp} ms=${event.created * 1000} /></span></div>
    <dl class="details">
      ${object.object === 'refund' && html`<${Detail} name="refund" value=${object.id} />
        <div><dt>to</dt><dd><${Account} address=${object.recipient} /></dd></div>`}
      ${isHash(transaction) && html`<div><dt>transaction</dt><dd><${TransactionHash} hash=${transaction} /></dd></div>`}
      ${isHash(block) && html`<div><dt>block</dt><dd><${BlockHash} hash=${block} /></dd></div>`}
      ${Number.isSafeInteger(number) && html`<div><dt>block number</dt><dd><${BlockNumber} number=${Number(number)} /></dd></div>`}
      ${names.map((name) => html`<${Detail} key=${name} name=${name} value=${details[name]} />`)}
    </dl>
  </li>`;
}

/** @param {{timeline: Timeline, order: Order}} props */
export function TimelinePanel({ timeline, order }) {
  return html`<${Panel} title="Timeline">
    <ol class="timeline">${timeline.items.map((event) => html`<${Entry} key=${event.id} event=${event} order=${order} />`)}</ol>
    ${timeline.next && html`<p class="muted">These are the first ${timeline.items.length} events. The API has all of them.</p>`}
  </${Panel}>`;
}
