// The block under construction.

import { Gwei, Integer } from '../../lib/components/amount.js';
import { Empty } from '../../lib/components/errors.js';
import { Badge, Panel, Table } from '../../lib/components/table.js';
import { html, useEffect, useState } from '../../lib/components/ui.js';
import { formatInteger, parseCount } from '../../lib/values.js';
import { AddressLink, TransactionLink } from '../links.js';
import { GasMeter, Recipient, ResultBadge } from '../summaries.js';
import { TransactionValue } from '../transaction-value.js';
import { StepRoots, StepStrip, stepKey } from './strip.js';

/**
 * @template T
 * @typedef {import('../../lib/components/table.js').Column<T>} Column
 */
/** @typedef {import('../chain.js').BlockEntry} BlockEntry */
/** @typedef {import('../live.js').Live} Live */
/** @typedef {import('../chain.js').TransactionEntry & {step: import('../chain.js').StepEntry}} Row */

const MAX_ROWS = 60;
/** Beyond this time after the timestamp, the block is not sealed by the clock. */
const MAX_OVERDUE = 3000;

/**
 * Time until the seal: a block is due at its timestamp, and at most one block time after its step 0. If timestamps are
 * ahead of the clock and the time of step 0 is not known, the page shows the maximum.
 * @param {{block: BlockEntry, blockTime: number | null, clockOffset: number}} props
 */
function Countdown({ block, blockTime, clockOffset }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  const total = blockTime ?? 2000;
  const [first] = block.steps;
  const latest = first?.index === 0 && first.time !== null ? first.time + total : Infinity;
  const due = Math.min(parseCount(block.header['timestamp']) * 1000, latest) + clockOffset;
  const left = due - now;
  if (left < -MAX_OVERDUE) return html`<span class="muted">sealed on demand</span>`;
  const shown = Math.max(0, Math.min(total, left));
  return html`<span class="countdown">
    <span>Seals ${left > total ? 'within' : 'in'} <span class="number">${(shown / 1000).toFixed(1)} s</span></span>
    <progress value=${total - shown} max=${total} aria-label="Progress of the block time"></progress>
  </span>`;
}

/** @param {{block: BlockEntry}} props */
function PendingTransactions({ block }) {
  const rows = block.steps
    .flatMap((step) => step.transactions.map((transaction) => ({ ...transaction, step })))
    .reverse();
  const shown = rows.slice(0, MAX_ROWS);
  /** @type {Column<Row>[]} */
  const columns = [
    { label: 'Step', numeric: true, cell: (row) => row.step.index },
    { label: 'Transaction', cell: (row) => html`<${TransactionLink} hash=${row.hash} />` },
    { label: 'From', cell: (row) => html`<${AddressLink} address=${row.from} copy=${false} />` },
    { label: 'To', cell: (row) => html`<${Recipient} to=${row.to} />` },
    { label: 'Value', numeric: true, cell: (row) => html`<${TransactionValue} value=${row.value} found=${row.transfer} />` },
    { label: 'Gas used', numeric: true, cell: (row) => (row.gasUsed === null ? '–' : formatInteger(row.gasUsed)) },
    {
      label: 'Result',
      cell: (row) => row.step.isWithdrawn
        ? html`<${Badge} tone="bad">withdrawn</${Badge}>`
        : html`<${ResultBadge} isSuccess=${row.isSuccess} />`,
    },
  ];
  return html`<${Table} caption="Transactions of the block under construction, the newest first"
      columns=${columns} rows=${shown}
      rowKey=${(/** @type {Row} */ row) => `${row.hash}-${row.step.hash}`}
      rowClass=${(/** @type {Row} */ row) => (row.step.isWithdrawn ? 'row-withdrawn' : '')}
      empty="No transactions in this block yet." />
    ${rows.length > shown.length && html`<p class="muted">
      The newest ${MAX_ROWS} of ${formatInteger(rows.length)} are shown.</p>`}`;
}

/** @param {{live: Live}} props */
export function PendingBlock({ live }) {
  const [selected, setSelected] = useState(/** @type {string | null} */ (null));
  const { pending, sealed } = live.model;
  if (pending === null) {
    return html`<${Panel} title="Block under construction">
      <${Empty}>The node has not published a step yet.</${Empty}>
    </${Panel}>`;
  }
  const newest = pending.steps.findLast((step) => !step.isWithdrawn) ?? null;
  const chosen = pending.steps.find((step) => stepKey(step) === selected) ?? newest;
  const { header } = pending;
  const parent = sealed[0];
  const blockTime = parent ? 1000 * (parseCount(header['timestamp']) - parseCount(parent.header['timestamp'])) : null;
  const baseFee = header['baseFeePerGas'];
  return html`<section class="panel pending">
    <header class="pending-head">
      <h1><span class="eyebrow">Block under construction </span>
        <span class="number">${formatInteger(pending.number)}</span></h1>
      <dl class="figures">
        <div><dt>Step</dt><dd class="number">${newest?.index ?? '–'}</dd></div>
        <div><dt>Transactions</dt><dd><${Integer} value=${pending.transactionCount} /></dd></div>
        <div><dt>Gas</dt><dd><${GasMeter} header=${header} /></dd></div>
        <div><dt>Base fee</dt><dd>${baseFee ? html`<${Gwei} value=${baseFee} />` : '–'}</dd></div>
      </dl>
      <${Countdown} block=${pending} blockTime=${blockTime} clockOffset=${live.clockOffset} />
    </header>
    <${StepStrip} block=${pending} selected=${chosen} onSelect=${setSelected} />
    ${chosen && html`<${StepRoots} block=${pending} step=${chosen} />`}
    <h2>Transactions</h2>
    <${PendingTransactions} block=${pending} />
  </section>`;
}
