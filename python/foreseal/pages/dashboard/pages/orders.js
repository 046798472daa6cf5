// Orders, with filters and search.

import { SelectField, TextField } from '../../lib/components/field.js';
import { Panel, Table } from '../../lib/components/table.js';
import { Timestamp } from '../../lib/components/time.js';
import { html, useEffect, useMemo, useState } from '../../lib/components/ui.js';
import { visibleName } from '../../lib/text.js';
import { isAddress } from '../../lib/values.js';
import { currentSession } from '../api.js';
import { router } from '../context.js';
import { DAY_PROBLEM, unixTime } from '../days.js';
import { Pages, usePages } from '../pages.js';
import { Account, OrderLink, OrderStatus, parseAmount } from '../shown.js';
import { ORDER_STATES } from '../states.js';

/** @typedef {import('../types.js').Order} Order */
/** @typedef {Record<string, string>} Filters */

export const title = () => 'Orders';

const NAMES = ['state', 'id', 'reference', 'payer', 'amount_from', 'amount_to', 'from', 'before'];


/**
 * Returns the parameters of the request, or the field at fault.
 * @param {Filters} text
 * @returns {{parameters: Filters, field?: undefined} | {field: string, message: string, parameters?: undefined}}
 */
export function parseFilters(text) {
  const { state = '', id = '', reference = '', payer = '', amount_from = '', amount_to = '', from = '', before = '' } = text;
  if (payer !== '' && !isAddress(payer.trim())) return { field: 'payer', message: 'must be an address: 0x and 40 hex digits' };
  const decimals = currentSession().destinations[0]?.decimals ?? 0;
  /** @type {Filters} */
  const parameters = { state, id: id.trim(), reference, payer: payer.trim() };
  for (const [field, value] of /** @type {const} */ ([['from', from], ['before', before]])) {
    if (value.trim() === '') continue;
    const time = unixTime(value);
    if (time === null) return { field, message: DAY_PROBLEM };
    parameters[`created_${field}`] = String(time);
  }
  for (const [field, value] of [['amount_from', amount_from], ['amount_to', amount_to]]) {
    if (field === undefined || value === undefined || value === '') continue;
    const amount = parseAmount(value, decimals);
    if (amount === null) return { field, message: 'must be an amount such as 12.50' };
    parameters[field] = amount.toString();
  }
  return { parameters };
}

/** @param {{initial: Filters}} props */
function FilterForm({ initial }) {
  const [text, setText] = useState(initial);
  const [error, setError] = useState(/** @type {{field: string, message: string} | null} */ (null));
  // The form stays, and with it the focus, while its search becomes the address of the page.
  useEffect(() => setText(initial), [JSON.stringify(initial)]);
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const parsed = parseFilters(text);
    setError(parsed.field === undefined ? null : parsed);
    if (parsed.field === undefined) router.setQuery(text);
  };
  /** @param {string} name @param {string} label @param {object} [more] */
  const field = (name, label, more = {}) => html`<${TextField} label=${label} value=${text[name] ?? ''}
    error=${error?.field === name ? error.message : null}
    onChange=${(/** @type {string} */ value) => setText((before) => ({ ...before, [name]: value }))} ...${more} />`;
  return html`<form class="stack" onSubmit=${submit} role="search" aria-label="Orders">
    <div class="form-row">
      <${SelectField} label="State" value=${text['state'] ?? ''} options=${[{ value: '', label: 'Any' }, ...ORDER_STATES]}
        onChange=${(/** @type {string} */ state) => setText((before) => ({ ...before, state }))} />
      ${field('id', 'Order begins with')}${field('reference', 'Reference')}
      ${field('payer', 'Payer', { isCode: true })}
    </div>
    <div class="form-row">
      ${field('amount_from', 'Amount from', { inputmode: 'decimal' })}${field('amount_to', 'Amount to', { inputmode: 'decimal' })}
      ${field('from', 'From day (UTC)', { placeholder: 'YYYY-MM-DD' })}
      ${field('before', 'Before day (UTC)', { placeholder: 'YYYY-MM-DD' })}
      <button type="submit" class="button button-primary">Search</button>
    </div>
  </form>`;
}

/** Description that the shopper sees, and the merchant's reference. @param {{order: Order}} props */
function Description({ order: { metadata, reference } }) {
  const description = visibleName(metadata['description'] ?? '', 60);
  if (reference === null) return description;
  return html`${description} <span class="muted">${visibleName(reference, 40)}</span>`;
}

/** @type {import('../../lib/components/table.js').Column<Order>[]} */
const COLUMNS = [
  { label: 'Order', cell: (order) => html`<${OrderLink} id=${order.id} />`, wrap: true },
  { label: 'Status', cell: (order) => html`<${OrderStatus} order=${order} />`, wrap: true },
  { label: 'Amount', cell: (order) => visibleName(order.amount_shown, 60), numeric: true },
  { label: 'Refunded', cell: (order) => (order.refunded === '0' ? '' : visibleName(order.refunded_shown, 60)), numeric: true },
  { label: 'Payer', cell: (order) => (order.payer === null ? html`<span class="muted">none yet</span>` : html`<${Account} address=${order.payer} />`) },
  { label: 'Description', cell: (order) => html`<${Description} order=${order} />`, wrap: true },
  { label: 'Created', cell: (order) => html`<${Timestamp} ms=${order.created * 1000} />`, wrap: true },
];

/** @param {{location: import('../../lib/router.js').Location}} props */
export default function OrdersPage({ location }) {
  /** @type {Filters} */
  const text = Object.fromEntries(NAMES.map((name) => [name, location.query.get(name) ?? '']));
  const key = JSON.stringify(text);
  const parameters = useMemo(() => parseFilters(text).parameters ?? {}, [key]);
  /** @type {ReturnType<typeof usePages<Order>>} */
  const list = usePages('/v1/orders', parameters);
  return html`<h1>Orders</h1>
    <${Panel} title="Search"><${FilterForm} initial=${text} /></${Panel}>
    <${Panel} title="Orders">
      <${Pages} list=${list}><${Table} caption="Orders, newest first" columns=${COLUMNS} rows=${list.items} isStacked=${true}
        rowKey=${(/** @type {Order} */ order) => order.id}
        empty=${list.isLoading ? '' : 'No order matches.'} /></${Pages}>
    </${Panel}>`;
}
