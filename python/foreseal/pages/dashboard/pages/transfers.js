// Transfers that pay neither an order nor an x402 response, and how they were resolved.

import { SelectField, TextField } from '../../lib/components/field.js';
import { Badge, Panel, Table } from '../../lib/components/table.js';
import { html, useState } from '../../lib/components/ui.js';
import { visibleName, visibleText } from '../../lib/text.js';
import { formatTokens, shortHex } from '../../lib/values.js';
import { may } from '../api.js';
import { router } from '../context.js';
import { ActionButton } from '../dialog.js';
import { Pages, usePages } from '../pages.js';
import { showResult } from '../result.js';
import { Account, amountText, decimalsOf, OrderLink, parseAmount, TransactionHash } from '../shown.js';
import { finalityWord } from '../states.js';

/** @typedef {import('../types.js').UnmatchedTransfer} UnmatchedTransfer */

const PATH = '/v1/unmatched-transfers';
const SHARED = 'shared_payee';
const DELIVERIES = [{ value: '', label: 'Not checked' }, { value: 'none', label: 'No service has delivered for it' }];
const RESOLUTIONS = [{ value: 'false', label: 'Open' }, { value: 'true', label: 'Resolved' }, { value: '', label: 'All' }];
/** @type {Record<string, string>} */
const REASONS = {
  underpaid: 'less than its order', overpaid: 'more than its order', late: 'its order has ended', duplicate: 'its order is paid already',
  direct: 'paid without the authorization of its order', unmatched: 'names no order',
  shared_payee: 'names no order; another service with this payee may have delivered for it',
  channel_payout: 'paid out of x402 payment channels', sweep: 'moved from the batch capture contract',
};

export const title = () => 'Unmatched transfers';

/** @param {UnmatchedTransfer} transfer */
const pathOf = (transfer) => `${PATH}/${transfer.transaction_hash}/${transfer.position}`;

/** @param {{transfer: UnmatchedTransfer, onDone: () => void}} props */
function Resolve({ transfer, onDone }) {
  const [note, setNote] = useState('');
  return html`<${ActionButton} label="Resolve" title="Record how this transfer was resolved" onDone=${onDone} isReady=${note.trim() !== ''}
    send=${(/** @type {import('../api.js').Change} */ change) => change.send(`${pathOf(transfer)}/resolution`, { note })}>
    ${() => html`<p>No money moves.</p><${TextField} label="Note" value=${note} onChange=${setNote} />`}
  </${ActionButton}>`;
}

/** @param {{transfer: UnmatchedTransfer, onDone: () => void}} props */
function RefundTransfer({ transfer, onDone }) {
  const known = decimalsOf(transfer.destination);
  const decimals = known ?? 0;
  const maximum = BigInt(transfer.amount);
  const [text, setText] = useState(() => amountText(maximum, decimals));
  const [delivery, setDelivery] = useState('');
  const isShared = transfer.reason === SHARED;
  const amount = parseAmount(text, decimals);
  const error = amount === null || amount > maximum ? 'must be an amount up to that of the transfer' : null;
  return html`<${ActionButton} label="Refund" title="Refund this transfer to its sender?" isDanger=${true}
    onDone=${() => {
      showResult(`Refund of ${formatTokens(amount ?? 0n, known)} ${visibleName(transfer.symbol ?? '')} to ${shortHex(transfer.sender)} submitted.`);
      onDone();
    }}
    isReady=${error === null && (!isShared || delivery !== '')}
    send=${(/** @type {import('../api.js').Change} */ change) => change.send(`${pathOf(transfer)}/refund`,
      { amount: String(amount), ...(isShared ? { confirm_shared_payee: true } : {}) })}>
    ${() => html`<p>The amount returns to <${Account} address=${transfer.sender} />. This cannot be undone.</p>
      ${isShared && html`<p>Another service that receives payments on the same account may have taken this transfer as
        payment. Check its records first: a refund would return money for a delivery.</p>
        <${SelectField} label="Deliveries of other services" value=${delivery} options=${DELIVERIES} onChange=${setDelivery} />`}
      <${TextField} label=${known === null ? 'Amount to refund, in smallest units' : 'Amount to refund'} value=${text} onChange=${setText} inputmode="decimal" error=${error} />`}
  </${ActionButton}>`;
}

/** @param {{location: import('../../lib/router.js').Location}} props */
export default function TransfersPage({ location }) {
  const resolved = location.query.get('resolved') ?? 'false';
  const filter = resolved === 'all' ? '' : resolved;
  /** @type {ReturnType<typeof usePages<UnmatchedTransfer>>} */
  const list = usePages(PATH, { resolved: filter });
  const onDone = list.reload;
  return html`<h1>Unmatched transfers</h1>
    <${Panel} title="Transfers that pay nothing" aside=${html`<${SelectField} label="Show" value=${filter} options=${RESOLUTIONS}
      onChange=${(/** @type {string} */ value) => router.setQuery({ resolved: value === '' ? 'all' : value })} />`}>
      <${Pages} list=${list}><${Table} caption="Unmatched transfers, newest first" rows=${list.items}
        empty=${list.isLoading ? '' : 'No transfers.'}
        rowKey=${(/** @type {UnmatchedTransfer} */ each) => `${each.transaction_hash}-${each.position}`} columns=${[
          { label: 'Transaction', cell: (/** @type {UnmatchedTransfer} */ each) => html`<${TransactionHash} hash=${each.transaction_hash} />` },
          { label: 'Sender', cell: (/** @type {UnmatchedTransfer} */ each) => html`<${Account} address=${each.sender} />` },
          { label: 'Amount', cell: (/** @type {UnmatchedTransfer} */ each) => visibleName(each.amount_shown, 60), numeric: true },
          { label: 'Reason', cell: (/** @type {UnmatchedTransfer} */ each) => html`${REASONS[each.reason] ?? each.reason}
            ${each.order_id !== null && html` (<${OrderLink} id=${each.order_id} />)`}` },
          { label: 'Finality', cell: (/** @type {UnmatchedTransfer} */ each) => finalityWord(each.finality) },
          { label: 'Resolution', cell: (/** @type {UnmatchedTransfer} */ each) => (each.resolution === null
            ? html`<div class="actions">
              ${may('POST /v1/unmatched-transfers/{transaction}/{position}/refund') && html`<${RefundTransfer} transfer=${each} onDone=${onDone} />`}
              ${may('POST /v1/unmatched-transfers/{transaction}/{position}/resolution') && html`<${Resolve} transfer=${each} onDone=${onDone} />`}
              ${!may('POST /v1/unmatched-transfers/{transaction}/{position}/refund') && html`<${Badge} tone="warn">open</${Badge}>`}</div>`
            : html`${visibleText(each.resolution.note, 200)} <span class="muted">by key ${visibleName(each.resolution.by)}</span>`) },
        ]} /></${Pages}>
    </${Panel}>`;
}
