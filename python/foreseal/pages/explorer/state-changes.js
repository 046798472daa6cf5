// Table of the accounts that a transaction changed, before and after.

import { Ether } from '../lib/components/amount.js';
import { Hash } from '../lib/components/hash.js';
import { Table } from '../lib/components/table.js';
import { html } from '../lib/components/ui.js';
import { byteLength } from '../lib/values.js';
import { AddressLink } from './links.js';
import { listChanges } from './state-diff.js';

/**
 * @template T
 * @typedef {import('../lib/components/table.js').Column<T>} Column
 */
/** @typedef {import('./state-diff.js').Change} Change */
/** @typedef {import('./state-diff.js').StateDiff} StateDiff */

/** @param {{kind: Change['kind'], value: string | null}} props */
function Value({ kind, value }) {
  if (value === null) return html`<span class="muted">none</span>`;
  if (kind === 'balance') return html`<${Ether} value=${value} digits=${18} />`;
  if (kind === 'code') return html`${byteLength(value)} bytes`;
  if (kind === 'slot') return html`<${Hash} value=${value} full=${true} />`;
  return html`<span class="number">${value}</span>`;
}

/** @param {{diff: StateDiff, caption: string}} props */
export function StateChanges({ diff, caption }) {
  const rows = listChanges(diff);
  /** @type {Column<Change>[]} */
  const columns = [
    { label: 'Account', cell: (row) => html`<${AddressLink} address=${row.address} />` },
    {
      label: 'Field',
      cell: (row) => (row.kind === 'slot' ? html`slot <${Hash} value=${row.field} full=${true} />` : row.field),
      wrap: true,
    },
    { label: 'Before', cell: (row) => html`<${Value} kind=${row.kind} value=${row.before} />`, wrap: true },
    { label: 'After', cell: (row) => html`<${Value} kind=${row.kind} value=${row.after} />`, wrap: true },
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${rows} isStacked=${true}
    rowKey=${(/** @type {Change} */ row) => `${row.address}-${row.field}`} empty="No account changed." />`;
}
