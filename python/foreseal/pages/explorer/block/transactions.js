// Transactions of a block up to a step, in pages.

import { Loaded } from '../../lib/components/errors.js';
import { useRequest } from '../../lib/components/request.js';
import { Table } from '../../lib/components/table.js';
import { html, useEffect, useState } from '../../lib/components/ui.js';
import { formatInteger, parseCount } from '../../lib/values.js';
import { rpc } from '../context.js';
import { AddressLink, StepLink, TransactionLink } from '../links.js';
import { Recipient, ResultBadge, isSuccessful } from '../summaries.js';
import { TransactionValue } from '../transaction-value.js';
import { loadTransactions } from './load.js';

/**
 * @template T
 * @typedef {import('../../lib/components/table.js').Column<T>} Column
 */

const PAGE = 25;

/** @typedef {Awaited<ReturnType<typeof loadTransactions>>[0]} Row */

/**
 * Returns the index of the step that added the transaction at a position; null without steps.
 * @param {readonly number[]} counts number of transactions at each step
 * @param {number} position
 */
export function stepOf(counts, position) {
  const index = counts.findIndex((count) => count > position);
  return index < 0 ? null : index;
}

/**
 * @param {{number: number, gas: number, hashes: readonly string[], counts: readonly number[],
 *   selected: number | null}} props
 */
export function BlockTransactions({ number, gas, hashes, counts, selected }) {
  const [page, setPage] = useState(0);
  const before = selected === null || selected === 0 ? 0 : /** @type {number} */ (counts[selected - 1]);
  const firstPage = Math.floor(Math.min(before, Math.max(0, hashes.length - 1)) / PAGE);
  useEffect(() => setPage(selected === null ? 0 : firstPage), [number, selected]);
  const first = page * PAGE;
  const shown = hashes.slice(first, first + PAGE);
  const request = useRequest((signal) => loadTransactions(rpc, shown, gas, signal), [shown.join()]);
  /** @type {Column<Row>[]} */
  const columns = [
    { label: 'Position', numeric: true, cell: (row) => parseCount(row.transaction['transactionIndex']) },
    {
      label: 'Step',
      numeric: true,
      cell: (row) => {
        const index = stepOf(counts, parseCount(row.transaction['transactionIndex']));
        return index === null ? '–' : html`<${StepLink} number=${number} index=${index} label=${String(index)} />`;
      },
    },
    { label: 'Transaction', cell: (row) => html`<${TransactionLink} hash=${row.transaction['hash']} />` },
    { label: 'From', cell: (row) => html`<${AddressLink} address=${row.transaction['from']} copy=${false} />` },
    { label: 'To', cell: (row) => html`<${Recipient} to=${row.transaction['to']} />` },
    { label: 'Value', numeric: true, cell: (row) => html`<${TransactionValue} value=${row.transaction['value']} found=${row.transfer} />` },
    {
      label: 'Gas used',
      numeric: true,
      cell: (row) => (row.receipt ? formatInteger(parseCount(row.receipt['gasUsed'])) : '–'),
    },
    { label: 'Result', cell: (row) => html`<${ResultBadge} isSuccess=${isSuccessful(row.receipt)} />` },
  ];
  if (hashes.length === 0) return html`<p class="empty">No transactions.</p>`;
  const pages = Math.ceil(hashes.length / PAGE);
  return html`
    <${Loaded} request=${request} label="Reading transactions">${(/** @type {Row[]} */ rows) => html`
      <${Table} caption="Transactions" columns=${columns} rows=${rows}
        rowKey=${(/** @type {Row} */ row) => row.transaction['hash']}
        rowClass=${(/** @type {Row} */ row) =>
          selected !== null && parseCount(row.transaction['transactionIndex']) >= before ? 'row-new' : ''} />`}
    </${Loaded}>
    ${pages > 1 && html`<div class="actions pager">
      <button type="button" class="button" disabled=${page === 0} onClick=${() => setPage(page - 1)}>Previous</button>
      <span class="number">${first + 1}–${first + shown.length} of ${formatInteger(hashes.length)}</span>
      <button type="button" class="button" disabled=${page >= pages - 1} onClick=${() => setPage(page + 1)}>Next</button>
    </div>`}
  `;
}
