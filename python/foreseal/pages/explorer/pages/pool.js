// Transactions that wait in the pool, by sender, and replacements.

import { checksumAddress } from '../../lib/address.js';
import { Ether, Gwei } from '../../lib/components/amount.js';
import { Disclosure } from '../../lib/components/disclosure.js';
import { Empty, ErrorNotice, Loaded } from '../../lib/components/errors.js';
import { TextField } from '../../lib/components/field.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Badge, Panel, Table } from '../../lib/components/table.js';
import { Age } from '../../lib/components/time.js';
import { html, useEffect, useState } from '../../lib/components/ui.js';
import { RpcError } from '../../lib/rpc.js';
import { PoolStream, webSocketUrl } from '../../lib/stream.js';
import { formatInteger, isAddress, parseCount, shortHex } from '../../lib/values.js';
import { endpoint, rpc } from '../context.js';
import { AddressLink, TransactionLink } from '../links.js';
import { ReplacementTracker } from '../replacements.js';
import { Recipient } from '../summaries.js';

/**
 * @template T
 * @typedef {import('../../lib/components/table.js').Column<T>} Column
 */
/** @typedef {Record<string, any>} Transaction */
/** @typedef {{transaction: Transaction, list: 'pending' | 'queued'}} Entry */
/** @typedef {{address: string, entries: Entry[]}} Sender */
/** @typedef {{pending: number, queued: number, senders: Sender[] | null}} PoolContent */
/** @typedef {import('../replacements.js').Replacement} Replacement */

const RELOAD_MS = 2000;
const MAX_SENDERS = 100;
const LIMIT_EXCEEDED = -32005;

export const title = () => 'Pool';

/** @param {Record<string, Record<string, Transaction>>} byList by list and nonce @returns {Entry[]} */
function entriesOf(byList) {
  const lists = /** @type {const} */ (['pending', 'queued']);
  return lists.flatMap((list) => Object.values(byList[list] ?? {}).map((transaction) => ({ transaction, list })));
}

/**
 * Groups the content of the pool by sender.
 * @param {Record<string, Record<string, Record<string, Transaction>>>} content
 */
export function groupBySender(content) {
  const addresses = new Set([...Object.keys(content['pending'] ?? {}), ...Object.keys(content['queued'] ?? {})]);
  return [...addresses].map((address) => ({
    address,
    entries: entriesOf({ pending: content['pending']?.[address] ?? {}, queued: content['queued']?.[address] ?? {} }),
  }));
}

/** @param {AbortSignal} signal @returns {Promise<PoolContent>} */
async function loadPool(signal) {
  const status = await rpc.call('txpool_status', [], { signal });
  const counts = { pending: parseCount(status.pending), queued: parseCount(status.queued) };
  if (counts.pending + counts.queued === 0) return { ...counts, senders: [] };
  try {
    return { ...counts, senders: groupBySender(await rpc.call('txpool_content', [], { signal, alone: true })) };
  } catch (error) {
    if (error instanceof RpcError && error.code === LIMIT_EXCEEDED) return { ...counts, senders: null };
    throw error;
  }
}

/** @type {Column<Entry>[]} */
const COLUMNS = [
  { label: 'Nonce', numeric: true, cell: ({ transaction }) => formatInteger(parseCount(transaction['nonce'])) },
  { label: 'Transaction', cell: ({ transaction }) => html`<${TransactionLink} hash=${transaction['hash']} />` },
  { label: 'To', cell: ({ transaction }) => html`<${Recipient} to=${transaction['to']} />` },
  { label: 'Value', numeric: true, cell: ({ transaction }) => html`<${Ether} value=${transaction['value']} digits=${4} />` },
  {
    label: 'Maximum fee',
    numeric: true,
    cell: ({ transaction }) => html`<${Gwei} value=${transaction['maxFeePerGas'] ?? transaction['gasPrice']} />`,
  },
  { label: 'Gas limit', numeric: true, cell: ({ transaction }) => formatInteger(parseCount(transaction['gas'])) },
  {
    label: 'List',
    cell: ({ list }) => list === 'pending'
      ? html`<${Badge} tone="good">executable</${Badge}>`
      : html`<${Badge} tone="warn">queued</${Badge}>`,
  },
];

/** @param {number} executable @param {number} queued */
const countText = (executable, queued) => `${formatInteger(executable)} executable, ${formatInteger(queued)} queued`;

/** @param {Entry} entry */
const entryKey = (entry) => entry.transaction['hash'];

/** @param {{sender: Sender}} props */
function SenderView({ sender }) {
  const { address, entries } = sender;
  const queued = entries.filter((entry) => entry.list === 'queued').length;
  const summary = html`<span class="mono">${shortHex(checksumAddress(address), 8, 6)}</span>
    <span class="muted number"> ${countText(entries.length - queued, queued)}</span>`;
  return html`<${Disclosure} className="function" summary=${summary}>${() => html`
    <p><${AddressLink} address=${address} full=${true} /></p>
    <${Table} caption=${`Transactions of ${address}`} columns=${COLUMNS} rows=${entries} rowKey=${entryKey} />`}
  </${Disclosure}>`;
}

function SenderSearch() {
  const [text, setText] = useState('');
  const address = isAddress(text.trim()) ? text.trim() : null;
  const request = useRequest(async (signal) => {
    if (address === null) return null;
    return entriesOf(await rpc.call('txpool_contentFrom', [address], { signal }));
  }, [address]);
  return html`<div class="stack">
    <${TextField} label="Sender" value=${text} onChange=${setText} placeholder="0x…" isCode=${true} />
    ${request.error && html`<${ErrorNotice} error=${request.error} />`}
    ${request.data && html`<${Table} caption="Transactions of the sender" columns=${COLUMNS} rows=${request.data}
      rowKey=${entryKey} empty="The sender has no transactions in the pool." />`}
  </div>`;
}

/** @param {{content: PoolContent}} props */
function Content({ content }) {
  const { senders, pending, queued } = content;
  if (senders === null) {
    return html`<p class="notice">The pool has ${formatInteger(pending + queued)} transactions, more than the node lists
      at once. Search for a sender.</p>`;
  }
  if (senders.length === 0) return html`<${Empty}>The pool is empty. Pre-confirmed transactions have left it.</${Empty}>`;
  const shown = senders.slice(0, MAX_SENDERS);
  return html`<div>${shown.map((sender) => html`<${SenderView} key=${sender.address} sender=${sender} />`)}</div>
    ${senders.length > shown.length && html`<p class="muted">
      ${`${MAX_SENDERS} of ${formatInteger(senders.length)} senders are shown.`}</p>`}`;
}

function Replacements() {
  const [list, setList] = useState(/** @type {Replacement[]} */ ([]));
  useEffect(() => {
    const tracker = new ReplacementTracker();
    const stream = new PoolStream(webSocketUrl(endpoint), {
      full: true,
      onTransaction: (transaction) => {
        if (tracker.add(transaction, Date.now())) setList(tracker.list);
      },
    });
    stream.start();
    return () => stream.stop();
  }, []);
  /** @type {Column<Replacement>[]} */
  const columns = [
    { label: 'Time', cell: (row) => html`<${Age} ms=${row.at} />` },
    { label: 'Sender', cell: (row) => html`<${AddressLink} address=${row.sender} copy=${false} />` },
    { label: 'Nonce', numeric: true, cell: (row) => formatInteger(row.nonce) },
    { label: 'Replaced', cell: (row) => html`<${TransactionLink} hash=${row.before} />` },
    { label: 'By', cell: (row) => html`<${TransactionLink} hash=${row.after} />` },
    { label: 'Fee before', numeric: true, cell: (row) => html`<${Gwei} value=${row.feeBefore} />` },
    { label: 'Fee after', numeric: true, cell: (row) => html`<${Gwei} value=${row.feeAfter} />` },
  ];
  return html`<${Table} caption="Replacements" columns=${columns} rows=${list}
    rowKey=${(/** @type {Replacement} */ row) => row.after} empty="No transaction was replaced since this page was opened." />`;
}

export default function PoolPage() {
  const request = useRequest(loadPool, []);
  useRepeat(request, RELOAD_MS);
  const { data } = request;
  return html`
    <h1>Pool</h1>
    <${Panel} title="By sender" aside=${data && html`<span class="muted number">${countText(data.pending, data.queued)}</span>`}>
      <${Loaded} request=${request} label="Reading the pool">
        ${(/** @type {PoolContent} */ content) => html`<${Content} content=${content} />`}
      </${Loaded}>
    </${Panel}>
    <${Panel} title="One sender"><${SenderSearch} /></${Panel}>
    <${Panel} title="Replacements since this page was opened"><${Replacements} /></${Panel}>
  `;
}
