// Logs of a transaction: from its receipt, or else from pages of the logs of its block.

import { Empty } from '../../lib/components/errors.js';
import { SearchProgress, usePagedSearch } from '../../lib/components/paged-search.js';
import { useBounded } from '../../lib/components/table.js';
import { html } from '../../lib/components/ui.js';
import { OldestFirst } from '../../lib/log-pages.js';
import { PageReader } from '../../lib/page-reader.js';
import { parseCount } from '../../lib/values.js';
import { rpc } from '../context.js';
import { LogView } from '../decoded.js';

/** @typedef {import('./load.js').Data} Data */

/** Logs that are shown at once. */
const MAX_LOGS = 50;

/** @param {{data: Data}} props */
export function TransactionLogs({ data: { receipt, receiptError, transaction } }) {
  const block = transaction?.['blockNumber'];
  if (receipt === null && receiptError !== null && block) {
    return html`<${PagedLogs} hash=${transaction?.['hash']} block=${block} />`;
  }
  if (receipt === null) return html`<${Empty}>${block ? 'Reading the receipt, which is large.' : 'The transaction has no receipt yet.'}</${Empty}>`;
  if (receipt['logs'].length === 0) return html`<${Empty}>The transaction emitted no logs.</${Empty}>`;
  return html`<${ReceiptLogs} logs=${receipt['logs']} />`;
}

/** @param {{logs: readonly any[]}} props */
function LogList({ logs }) {
  return logs.map((log) => {
    const head = html`<span class="muted number">${parseCount(log.logIndex)}</span>`;
    return html`<${LogView} key=${log.logIndex} log=${log} head=${head} />`;
  });
}

/** @param {{logs: any[]}} props */
function ReceiptLogs({ logs }) {
  const { shown, more } = useBounded(logs, MAX_LOGS);
  return html`<div class="stack"><${LogList} logs=${shown} />${more}</div>`;
}

/** @param {{hash: string, block: string}} props */
function PagedLogs({ hash, block }) {
  const found = usePagedSearch(
    async () => new PageReader(new OldestFirst(rpc, { fromBlock: block, toBlock: block }, MAX_LOGS), MAX_LOGS),
    (log) => (log['transactionHash'] === hash ? [log] : []), `${hash} ${block}`,
  );
  return html`<div class="stack">
    <p class="muted">The node does not return the receipt as a whole. These logs come from pages of the block's logs.</p>
    <${LogList} logs=${found.rows} />
    <${SearchProgress} search=${found} label="Searching the block" more="More logs" /></div>`;
}
