// One order: its money and its chain side by side, its timeline, and what can be done with it.

import { Loaded } from '../../lib/components/errors.js';
import { TextField } from '../../lib/components/field.js';
import { Hash } from '../../lib/components/hash.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Facts, Panel, Table } from '../../lib/components/table.js';
import { Timestamp } from '../../lib/components/time.js';
import { html, useRef, useState } from '../../lib/components/ui.js';
import { visibleName, visibleText } from '../../lib/text.js';
import { formatTokens, shortHex } from '../../lib/values.js';
import { currentSession, get, may, query, segment } from '../api.js';
import { ActionButton } from '../dialog.js';
import { showResult } from '../result.js';
import { Account, amountText, BlockNumber, decimalsOf, OrderStatus, parseAmount, Status, TransactionHash } from '../shown.js';
import { finalityWord } from '../states.js';
import { TimelinePanel } from '../timeline.js';

/** @typedef {import('../types.js').Order} Order */
/** @typedef {import('../types.js').OrderDetail} OrderDetail */
/** @typedef {import('../types.js').Refund} Refund */
/** @typedef {import('../types.js').Timeline} Timeline */
/** @typedef {{detail: OrderDetail, timeline: Timeline, refunds: Refund[]}} Found */

const REFRESH_MS = 2000;
const VOIDABLE = ['Signed, unused', 'Stored, unused'];
const PAYABLE = ['Drafted', ...VOIDABLE];

/** @param {import('../../lib/router.js').Location} location */
export const title = (location) => `Order ${visibleName(location.params['id'] ?? '')}`;

/** @param {string} id @param {AbortSignal} signal @param {boolean} isBackground @returns {Promise<Found>} */
async function load(id, signal, isBackground) {
  const path = `/v1/orders/${segment(id)}`;
  const options = { signal, isBackground };
  /** @type {[OrderDetail, Timeline, import('../types.js').RefundPage]} */
  const [detail, timeline, refunds] = await Promise.all([
    get(`${path}?refunds=true`, options), get(`${path}/timeline?refunds=true`, options), get(`/v1/refunds${query({ order: id, limit: 200 })}`, options),
  ]);
  return { detail, timeline, refunds: refunds.items };
}

/**
 * A field for an amount of at most `maximum`.
 * @param {{label: string, text: string, onChange: (text: string) => void, order: Order, maximum: bigint,
 *   decimals: number}} props
 */
function AmountField({ label, text, onChange, order, maximum, decimals }) {
  const amount = parseAmount(text, decimals);
  const error = amount === null ? 'must be an amount such as 12.50' : amount > maximum ? `is more than ${amountText(maximum, decimals)}` : null;
  return html`<${TextField} label=${label} value=${text} onChange=${onChange} inputmode="decimal" error=${error}
    hint=${`At most ${amountText(maximum, decimals)} ${visibleName(order.symbol ?? '')}`} />`;
}

/** An amount of the order's token, for people. @param {Order} order @param {bigint} amount */
function shownAmount(order, amount) {
  return `${formatTokens(amount, decimalsOf(order.destination))} ${visibleName(order.symbol ?? '')}`;
}

/**
 * Sender and receiver of a movement, as its confirmation shows them.
 * @param {{amount?: string, from: string | null, to: string | null}} props
 */
function Movement({ amount, from, to }) {
  return html`<${Facts} rows=${[
    ['Amount', amount ?? null],
    ['From', from === null ? null : html`<${Account} address=${from} />`],
    ['To', to === null ? null : html`<${Account} address=${to} />`],
  ]} />`;
}

/** @param {{order: Order, onDone: () => void}} props */
function Capture({ order, onDone }) {
  const decimals = decimalsOf(order.destination) ?? 0;
  const maximum = BigInt(order.amount);
  const [text, setText] = useState(() => amountText(maximum, decimals));
  const amount = parseAmount(text, decimals);
  const isVariable = order.checkout !== null;
  const body = isVariable ? { amount: String(amount) } : {};
  return html`<${ActionButton} label="Capture" title="Capture this order?"
    isReady=${!isVariable || (amount !== null && amount <= maximum)}
    onDone=${() => {
      showResult(`Capture of ${shownAmount(order, (isVariable ? amount : null) ?? maximum)} to ${shortHex(order.payee)} submitted.`);
      onDone();
    }}
    send=${(/** @type {import('../api.js').Change} */ change) => change.send(`/v1/orders/${segment(order.id)}/capture`, body)}>
    ${() => html`<${Movement} from=${order.payer} to=${order.payee}
        amount=${isVariable ? undefined : visibleName(order.amount_shown, 60)} />
      ${isVariable && html`<${AmountField} label="Amount to capture" text=${text} onChange=${setText} ...${{ order, maximum, decimals }} />`}`}
  </${ActionButton}>`;
}

/** @param {{order: Order, onDone: () => void}} props */
function Void({ order, onDone }) {
  const [reason, setReason] = useState('');
  return html`<${ActionButton} label="Void" title="Void this order?" isDanger=${true}
    onDone=${() => {
      showResult(`Order voided: ${visibleName(order.amount_shown, 60)} will not be captured.`);
      onDone();
    }}
    send=${(/** @type {import('../api.js').Change} */ change) =>
      change.send(`/v1/orders/${segment(order.id)}/void`, reason === '' ? {} : { reason })}>
    ${() => html`<p>The amount is never captured. This cannot be undone.</p>
      <${Movement} amount=${visibleName(order.amount_shown, 60)} from=${order.payer} to=${order.payee} />
      <${TextField} label="Reason" value=${reason} onChange=${setReason} hint="Optional; appears in the timeline" />`}
  </${ActionButton}>`;
}

/** @param {{order: Order, captured: bigint, onDone: () => void}} props */
function RefundAction({ order, captured, onDone }) {
  const decimals = decimalsOf(order.destination) ?? 0;
  const maximum = captured - BigInt(order.refunded);
  const receiver = order.payment?.sender ?? order.payer;
  const [text, setText] = useState(() => amountText(maximum, decimals));
  const amount = parseAmount(text, decimals);
  return html`<${ActionButton} label="Refund" title="Refund to the payer?" isDanger=${true}
    onDone=${() => {
      showResult(`Refund of ${shownAmount(order, amount ?? 0n)} to ${shortHex(receiver ?? '')} submitted.`);
      onDone();
    }}
    isReady=${amount !== null && amount <= maximum}
    send=${(/** @type {import('../api.js').Change} */ change) =>
      change.send(`/v1/orders/${segment(order.id)}/refunds`, { amount: String(amount) })}>
    ${() => html`<p>The amount returns to the account that paid. This cannot be undone.</p>
      <${Movement} from=${order.payee} to=${receiver} />
      <${AmountField} label="Amount to refund" text=${text} onChange=${setText} ...${{ order, maximum, decimals }} />`}
  </${ActionButton}>`;
}

/** @param {{order: Order, onDone: () => void}} props */
function Actions({ order, onDone }) {
  const { state } = order;
  const captured = order.payment === null ? 0n : BigInt(order.payment.amount);
  const isKnown = decimalsOf(order.destination) !== null;
  const isOpen = VOIDABLE.includes(state) || (state === 'Drafted' && order.payer === null);
  // The fields begin with the current amounts.
  const version = `${order.refunded}-${captured}`;
  return html`<div class="actions">
    ${may('POST /v1/orders/{id}/capture') && state === 'Stored, unused' && isKnown
      && html`<${Capture} order=${order} onDone=${onDone} />`}
    ${may('POST /v1/orders/{id}/void') && isOpen && html`<${Void} order=${order} onDone=${onDone} />`}
    ${may('POST /v1/orders/{id}/refunds') && state === 'Used, captured' && captured > BigInt(order.refunded) && isKnown
      && html`<${RefundAction} key=${version} order=${order} captured=${captured} onDone=${onDone} />`}
  </div>`;
}

/**
 * The time at which the checkout ends, and why it is before the end of the authorization.
 * @param {{order: Order}} props
 */
function PayableUntil({ order }) {
  const { margin_seconds: margin } = currentSession();
  return html`<${Timestamp} ms=${(order.valid_before - margin) * 1000} />
    <span class="muted"> The authorization is valid for ${margin} s longer, so that the transaction has time to reach a
      block.</span>`;
}

/** @param {{order: Order, refunds: Refund[]}} props */
function MoneyPanel({ order, refunds }) {
  return html`<${Panel} title="Money">
    <${Facts} rows=${[
      [order.checkout === null ? 'Amount' : 'Maximum', visibleName(order.amount_shown, 60)],
      ['Captured', order.payment === null ? 'nothing' : visibleName(order.payment.amount_shown, 60)],
      ['Refunded', visibleName(order.refunded_shown, 60)],
      ['Payer', order.payer === null ? 'none yet' : html`<${Account} address=${order.payer} />`],
      ['Payee', html`<${Account} address=${order.payee} />`],
      ['Destination', order.destination === null ? 'not configured' : visibleName(order.destination)],
      ['Payable until', PAYABLE.includes(order.state) && html`<${PayableUntil} order=${order} />`],
      ['Reference', order.reference === null ? null : visibleName(order.reference, 200)],
      ...Object.entries(order.metadata).map(([name, value]) => /** @type {const} */ ([visibleName(name), visibleText(value)])),
    ]} />
    <${Table} caption="Refunds" isCaptionShown=${true} rows=${refunds} empty="No refunds."
      rowKey=${(/** @type {Refund} */ refund) => refund.id} columns=${[
        { label: 'Refund', cell: (/** @type {Refund} */ refund) => visibleName(refund.id, 24) },
        { label: 'Status', cell: (/** @type {Refund} */ refund) => html`<${Status} ...${refund} />` },
        { label: 'Amount', cell: (/** @type {Refund} */ refund) => visibleName(refund.amount_shown, 60), numeric: true },
      ]} />
  </${Panel}>`;
}

/** @param {{detail: OrderDetail}} props */
function ChainPanel({ detail: { order, transactions } }) {
  const { payment } = order;
  return html`<${Panel} title="Chain">
    <${Facts} rows=${[
      ['Chain', String(order.chain_id)],
      ['Token', html`<${Account} address=${order.token} />`],
      ['Paid by', payment === null ? 'no transfer yet' : html`<${TransactionHash} hash=${payment.transaction_hash} />`],
      ['Block', payment && html`<${BlockNumber} number=${payment.block_number} />`],
      ['Log in the block', payment && String(payment.log_index)],
      ['Finality', payment && finalityWord(payment.finality)],
      ['Nonce', html`<${Hash} value=${order.nonce} />`],
      ['Memo', html`<${Hash} value=${order.memo} />`],
      ['Last error', order.last_error === null ? null : visibleText(order.last_error)],
    ]} />
    <${Table} caption="Transactions of this order" isCaptionShown=${true} rows=${transactions} empty="No transactions."
      rowKey=${(/** @type {import('../types.js').Transaction} */ each) => `${each.purpose}-${each.account_nonce}`} columns=${[
        { label: 'Purpose', cell: (/** @type {import('../types.js').Transaction} */ each) => each.purpose.replace('_', ' ') },
        { label: 'Nonce', cell: (/** @type {import('../types.js').Transaction} */ each) => each.account_nonce, numeric: true },
        { label: 'Hashes', cell: (/** @type {import('../types.js').Transaction} */ each) =>
          each.hashes.map((hash) => html`<div key=${hash}><${TransactionHash} hash=${hash} /></div>`) },
        { label: 'Result', cell: (/** @type {import('../types.js').Transaction} */ each) => each.result ?? 'not final yet' },
      ]} />
  </${Panel}>`;
}

/** @param {Refund} refund */
const isRefundSettled = ({ state, finality }) => state === 'Blocked' || finality === 'final';

/** @param {{location: import('../../lib/router.js').Location}} props */
export default function OrderPage({ location }) {
  const id = location.params['id'] ?? '';
  const hasLoaded = useRef(false);
  const request = useRequest(async (signal) => {
    const found = await load(id, signal, hasLoaded.current);
    hasLoaded.current = true;
    return found;
  }, [id]);
  const order = request.data?.detail.order;
  const isSettled = order === undefined || (order.finality === 'final' && (request.data?.refunds ?? []).every(isRefundSettled));
  useRepeat(request, isSettled ? null : REFRESH_MS);
  return html`<${Loaded} request=${request}>${(/** @type {Found} */ { detail, timeline, refunds }) => html`
    <div class="page-head"><h1>Order ${visibleName(detail.order.id, 60)}</h1><${OrderStatus} order=${detail.order} /></div>
    <${Actions} order=${detail.order} onDone=${request.reload} />
    <div class="columns"><${MoneyPanel} order=${detail.order} refunds=${refunds} /><${ChainPanel} detail=${detail} /></div>
    <${TimelinePanel} timeline=${timeline} order=${detail.order} />`}</${Loaded}>`;
}
