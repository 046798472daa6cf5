// One transaction: status, content, logs, trace, state changes and pre-confirmation receipt.

import { Ether, Gwei, Integer } from '../../lib/components/amount.js';
import { Disclosure } from '../../lib/components/disclosure.js';
import { Empty, ErrorNotice, Loaded } from '../../lib/components/errors.js';
import { Hash } from '../../lib/components/hash.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Facts, Panel } from '../../lib/components/table.js';
import { Tabs } from '../../lib/components/tabs.js';
import { Timestamp } from '../../lib/components/time.js';
import { html, useMemo, useRef } from '../../lib/components/ui.js';
import { visibleText } from '../../lib/text.js';
import { isHash, parseCount, shortHex } from '../../lib/values.js';
import { router, rpc } from '../context.js';
import { CallInput } from '../decoded.js';
import { AddressLink, BlockLink, StepLink } from '../links.js';
import { LifeCycle, stageOf } from '../transaction/life-cycle.js';
import { isComplete, loadTransaction } from '../transaction/load.js';
import { TransactionLogs } from '../transaction/logs.js';
import { PreconfirmationView } from '../transaction/preconfirmation.js';
import { Recipient, ResultBadge, isSuccessful } from '../summaries.js';
import { findTransfers } from '../tokens.js';
import { TokenTransfers } from '../transaction/token-transfers.js';
import { TraceTree, TransactionStateChanges } from '../transaction/trace.js';

/** @typedef {import('../../lib/router.js').Location} Location */
/** @typedef {Record<string, any>} Json */
/** @typedef {import('../transaction/load.js').Data} Data */

/** @param {Location} location */
export const title = ({ params: { hash = '' } }) => `Transaction ${shortHex(hash)}`;

/** Milliseconds between reads, before and after the seal. */
const RELOAD_MS = 400;
const SLOW_RELOAD_MS = 4000;
const TYPES = ['legacy', 'EIP-2930', 'EIP-1559', 'EIP-4844', 'EIP-7702'];

/**
 * Returns what a transaction paid: gas used, its limit, the price of gas, and the fee.
 * @param {Json} transaction @param {Json | null} receipt
 * @returns {(readonly [string, import('../../lib/components/ui.js').Child])[]}
 */
function gasFacts(transaction, receipt) {
  const limit = parseCount(transaction['gas']);
  const used = receipt && parseCount(receipt['gasUsed']);
  const fee = receipt && BigInt(receipt['gasUsed']) * BigInt(receipt['effectiveGasPrice']);
  const price = receipt?.['effectiveGasPrice'] ?? transaction['gasPrice'] ?? transaction['maxFeePerGas'];
  return [
    ['Gas used', used !== null && html`<${Integer} value=${used} />
      <span class="muted number"> (${Math.round((100 * used) / Math.max(1, limit))} % of the limit)</span>`],
    ['Gas limit', html`<${Integer} value=${limit} />`],
    ['Gas price', html`<${Gwei} value=${price} />`],
    ['Fee', fee !== null && html`<${Ether} value=${fee} digits=${18} />`],
  ];
}

/** Facts that few readers need. @param {{transaction: Json}} props */
function MoreFacts({ transaction }) {
  const type = parseCount(transaction['type'] ?? '0x0');
  const { accessList = [], authorizationList = [] } = transaction;
  return html`<${Facts} rows=${[
    ['Maximum fee', transaction['maxFeePerGas'] && html`<${Gwei} value=${transaction['maxFeePerGas']} /> <span class="muted">per gas</span>`],
    ['Priority fee', transaction['maxPriorityFeePerGas'] && html`<${Gwei} value=${transaction['maxPriorityFeePerGas']} /> <span class="muted">per gas</span>`],
    ['Nonce', html`<${Integer} value=${transaction['nonce']} />`],
    ['Type', `${type}${TYPES[type] ? `, ${TYPES[type]}` : ''}`],
    ['Access list', accessList.length > 0 && `${accessList.length} addresses`],
    ['Delegations', authorizationList.length > 0 && `${authorizationList.length} authorizations`],
  ]} />`;
}

/** @param {{data: Data}} props */
function Overview({ data }) {
  const { transaction, receipt, status, timestamp } = data;
  const found = useMemo(() => findTransfers(receipt?.['logs'] ?? []), [receipt]);
  if (transaction === null) return null;
  const number = status.blockNumber === undefined ? null : parseCount(status.blockNumber);
  const index = status.flashblockIndex === undefined ? null : parseCount(status.flashblockIndex);
  const created = receipt?.['contractAddress'];
  return html`<${Facts} rows=${[
    ['Result', receipt ? html`<${ResultBadge} isSuccess=${isSuccessful(receipt)} />`
      : data.receiptError && html`<span class="muted">The receipt is too large: ${visibleText(data.receiptError.message, 200)}</span>`],
    ['Block', number !== null && html`<${BlockLink} number=${number} />
      ${index !== null && html`, <${StepLink} number=${number} index=${index} />`}
      ${', position '}${parseCount(transaction['transactionIndex'] ?? '0x0')}`],
    ['Time', timestamp !== null && html`<${Timestamp} ms=${timestamp} />`],
    ['From', html`<${AddressLink} address=${transaction['from']} full=${true} />`],
    ['To', html`<${Recipient} to=${transaction['to']} full=${true} />`],
    ['Created contract', created && html`<${AddressLink} address=${created} full=${true} />`],
    ['Token transfers', found.transfers.length > 0 && html`<${TokenTransfers} found=${found} hash=${transaction['hash']} />`],
    ['Value', html`<${Ether} value=${transaction['value']} digits=${18} />`],
    ...gasFacts(transaction, receipt),
  ]} />
  <${Disclosure} summary="More details">${() => html`<${MoreFacts} transaction=${transaction} />`}</${Disclosure}>
  <h3>Input</h3>
  <${CallInput} to=${transaction['to'] ?? null} input=${transaction['input']} />`;
}

/** @param {{data: Data, hash: string, tab: string | null}} props */
function TransactionTabs({ data, hash, tab }) {
  const { receipt } = data;
  // The hash of the block changes with each step, but what the transaction does there does not.
  const block = /** @type {string | undefined} */ (data.transaction?.['blockNumber'] ?? undefined);
  /** @param {(props: {hash: string, block: string}) => unknown} View */
  const inBlock = (View) => block === undefined
    ? html`<${Empty}>Available when a step contains the transaction.</${Empty}>`
    : html`<${View} hash=${hash} block=${block} />`;
  const tabs = [
    { id: 'overview', label: 'Overview', content: () => html`<${Overview} data=${data} />` },
    { id: 'logs', label: receipt ? `Logs (${receipt['logs'].length})` : 'Logs', content: () => html`<${TransactionLogs} data=${data} />` },
    { id: 'trace', label: 'Trace', content: () => inBlock(TraceTree) },
    { id: 'state', label: 'State changes', content: () => inBlock(TransactionStateChanges) },
    { id: 'preconfirmation', label: 'Pre-confirmation', content: () => inBlock(PreconfirmationView) },
  ];
  return html`<section class="panel"><${Tabs} label="About the transaction" tabs=${tabs} selected=${tab}
    onSelect=${(/** @type {string} */ id) => router.setQuery({ tab: id === 'overview' ? null : id })} /></section>`;
}

/** @param {{location: Location}} props */
export default function TransactionPage({ location }) {
  const hash = (location.params['hash'] ?? '').toLowerCase();
  const isValid = isHash(hash);
  const previous = useRef(/** @type {{hash: string, data: Data} | null} */ (null));
  const request = useRequest(async (signal) => {
    const before = previous.current?.hash === hash ? previous.current.data : null;
    const data = await loadTransaction(rpc, hash, before, signal);
    previous.current = { hash, data };
    return data;
  }, [hash]);
  const stage = request.data ? stageOf(request.data.status, request.data.node) : null;
  const isSettled = stage === 'sealed' || stage === 'safe';
  const isOpen = request.data !== null && !isComplete(request.data);
  useRepeat(request, !isValid || (stage === 'finalized' && !isOpen) ? null : isSettled && !isOpen ? SLOW_RELOAD_MS : RELOAD_MS);
  if (!isValid) return html`<h1>Transaction</h1><${ErrorNotice} error=${request.error} />`;
  return html`
    <div class="page-head"><h1>Transaction</h1><p><${Hash} value=${hash} full=${true} /></p></div>
    <${Loaded} request=${request} label="Reading the transaction">${(/** @type {Data} */ data) => html`
      <${Panel} title="Status"><${LifeCycle} status=${data.status} node=${data.node} /></${Panel}>
      ${data.transaction && html`<${TransactionTabs} data=${data} hash=${hash} tab=${location.query.get('tab')} />`}
    `}</${Loaded}>
  `;
}
