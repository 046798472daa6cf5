// One block, at one of its steps.

import { Gwei, Integer } from '../../lib/components/amount.js';
import { ErrorNotice, Loaded } from '../../lib/components/errors.js';
import { Hash } from '../../lib/components/hash.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Badge, Facts, Panel } from '../../lib/components/table.js';
import { Timestamp } from '../../lib/components/time.js';
import { html, useRef, useState } from '../../lib/components/ui.js';
import { formatInteger, parseCount, shortHex } from '../../lib/values.js';
import { loadBlock, loadStateChanges } from '../block/load.js';
import { BlockTransactions } from '../block/transactions.js';
import { router, rpc } from '../context.js';
import { AddressLink, TransactionLink, stateAt } from '../links.js';
import { paths } from '../paths.js';
import { StateChanges } from '../state-changes.js';
import { StateReader } from '../state-reader.js';
import { GasMeter } from '../summaries.js';

/** @typedef {import('../../lib/router.js').Location} Location */
/** @typedef {import('../block/load.js').BlockWithSteps} BlockWithSteps */
/** @typedef {import('../block/load.js').Block} Block */

/** Milliseconds between reads, before and after the seal. */
const RELOAD_MS = 1000;
const SLOW_RELOAD_MS = 4000;
const TONES = { pending: 'live', sealed: 'good', safe: 'good', finalized: 'good' };

/** @param {Location} location */
export const title = ({ params: { id = '', index } }) =>
  index === undefined ? `Block ${shortHex(id)}` : `Block ${shortHex(id)}, step ${index}`;

/** @param {{data: BlockWithSteps, selected: number | null}} props */
function StepTabs({ data, selected }) {
  const { number, steps } = data;
  if (steps.length === 0) {
    return html`<p class="muted">The node has no steps of this block: it is old, imported, or genesis. The page shows the
      sealed block.</p>`;
  }
  return html`<nav class="strip strip-static" aria-label="Steps of this block">
    ${steps.map((step, index) => {
      const before = index === 0 ? 0 : steps[index - 1]?.['transactions'].length;
      return html`<a key=${step['hash']} class="step" data-state=${index === steps.length - 1 ? 'newest' : 'done'}
        aria-current=${index === selected ? 'step' : undefined} href=${router.href(paths.step(number, index))}>
        <span class="step-head">Step ${index}</span>
        <span class="step-count">+${formatInteger(step['transactions'].length - before)}<span class="unit"> tx</span></span>
        <span class="mono muted">${shortHex(step['hash'], 4, 4)}</span>
      </a>`;
    })}
  </nav>`;
}

/** @param {{block: Block, before: Block | undefined}} props */
function Header({ block, before }) {
  /** @param {string} field */
  const root = (field) => html`<${Hash} value=${block[field]} full=${true} />
    ${before && before[field] !== block[field] && html` <${Badge} tone="live">changed</${Badge}>`}`;
  const parent = /** @type {string} */ (block['parentHash']);
  const gas = ['gasUsed', 'gasLimit'].map((field) => formatInteger(parseCount(block[field]))).join(' of ');
  return html`<${Facts} rows=${[
    ['Hash', root('hash')],
    ['Parent block', html`<${Hash} value=${parent} full=${true} href=${router.href(paths.block(parent))} />`],
    ['Time', html`<${Timestamp} ms=${1000 * parseCount(block['timestamp'])} />`],
    ['Transactions', html`<${Integer} value=${block['transactions'].length} />`],
    ['Gas', html`<${GasMeter} header=${block} /><span class="muted number"> ${gas}</span>`],
    ['Base fee', block['baseFeePerGas'] && html`<${Gwei} value=${block['baseFeePerGas']} />`],
    ['State root', root('stateRoot')],
    ['Transactions root', root('transactionsRoot')],
    ['Receipts root', root('receiptsRoot')],
    ['Fee recipient', html`<${AddressLink} address=${block['miner']} full=${true} />`],
    ['Extra data', block['extraData'] !== '0x' && html`<span class="mono">${block['extraData']}</span>`],
  ]} />`;
}

/** @param {{block: Block, hashes: string[]}} props */
function StepChanges({ block, hashes }) {
  const [isOpen, setOpen] = useState(false);
  if (hashes.length === 0) return html`<p class="empty">The step has no transactions.</p>`;
  if (!isOpen) {
    return html`<p class="muted">The node executes the transactions again to find the changes.</p>
      <p><button type="button" class="button" onClick=${() => setOpen(true)}>Show state changes</button></p>`;
  }
  return html`<${LoadedChanges} block=${block} hashes=${hashes} />`;
}

/** @param {{block: Block, hashes: string[]}} props */
function LoadedChanges({ block, hashes }) {
  const request = useRequest((signal) => loadStateChanges(rpc, block['hash'], hashes, signal), [block['hash']]);
  return html`<${Loaded} request=${request} label="Executing the transactions">
    ${(/** @type {{hash: string, diff: any}[]} */ traces) => traces.map(({ hash, diff }) => html`<div key=${hash}>
      <p><${TransactionLink} hash=${hash} /></p>
      <${StateChanges} diff=${diff} caption=${`State changes of transaction ${hash}`} />
    </div>`)}
  </${Loaded}>`;
}

/**
 * Returns the index of the shown step: that of the address, that with the hash of the address, or the last one.
 * @param {BlockWithSteps} data
 * @param {string | undefined} wanted
 */
function selectedStep({ steps, block }, wanted) {
  if (steps.length === 0) return null;
  if (wanted !== undefined) return /^\d{1,6}$/.test(wanted) && steps[Number(wanted)] ? Number(wanted) : -1;
  const index = steps.findIndex((step) => step['hash'] === block['hash']);
  return index < 0 ? steps.length - 1 : index;
}

/** @param {{data: BlockWithSteps, wanted: string | undefined}} props */
function BlockView({ data, wanted }) {
  const { number, steps, block, finality } = data;
  const selected = selectedStep(data, wanted);
  if (selected === -1 || (selected === null && wanted !== undefined)) {
    const error = new Error(`The node has no step ${wanted?.slice(0, 20)} of this block.`);
    return html`<h1>Block ${formatInteger(number)}</h1>
      <${ErrorNotice} error=${error} /><${StepTabs} data=${data} selected=${null} />`;
  }
  const shown = selected === null ? block : /** @type {Block} */ (steps[selected]);
  const before = selected === null || selected === 0 ? undefined : steps[selected - 1];
  const isLast = selected === null || selected === steps.length - 1;
  const hashes = /** @type {string[]} */ (shown['transactions']);
  const counts = steps.map((step) => step['transactions'].length);
  return html`
    <div class="page-head">
      <h1>Block <span class="number">${formatInteger(number)}</span>
        ${selected !== null && !isLast && html`<span class="muted">step ${selected}</span>`}
        <${Badge} tone=${TONES[finality]}>${finality === 'pending' ? 'under construction' : finality}</${Badge}></h1>
      <p class="actions">
        ${number > 0 && html`<a href=${router.href(paths.block(number - 1))}>Previous block</a>`}
        ${finality !== 'pending' && html`<a href=${router.href(paths.block(number + 1))}>Next block</a>`}
      </p>
    </div>
    <${StepTabs} data=${data} selected=${selected} />
    <${Panel} title=${selected === null ? 'Header' : `Header at step ${selected}`}>
      <${Header} block=${shown} before=${before} />
    </${Panel}>
    <${Panel} title=${isLast ? 'Transactions' : `Transactions up to step ${selected}`}>
      <${BlockTransactions} number=${number} gas=${parseCount(shown['gasUsed'])} hashes=${hashes} counts=${counts} selected=${selected} />
    </${Panel}>
    <div class="columns">
      <${Panel} title=${selected === null ? 'State after this block' : `State at step ${selected}`}>
        <${StateReader} at=${stateAt(number, isLast && finality !== 'pending' ? null : selected)} />
      </${Panel}>
      <${Panel} title=${selected === null ? 'State changes' : `State changes of step ${selected}`}>
        <${StepChanges} key=${shown['hash']} block=${shown} hashes=${hashes.slice(before?.['transactions'].length ?? 0)} />
      </${Panel}>
    </div>
  `;
}

/**
 * Returns the time until the next read, or null. Steps arrive several times a second; one read a second is enough for
 * this page.
 * @param {string} id @param {BlockWithSteps | null} data
 */
function intervalOf(id, data) {
  if (id === 'latest' || id === 'pending' || data?.isPending) return RELOAD_MS;
  const isSettled = data === null || (data.finality === 'finalized' && id !== 'safe' && id !== 'finalized');
  return isSettled ? null : SLOW_RELOAD_MS;
}

/** @param {{location: Location}} props */
export default function BlockPage({ location }) {
  const { id = '', index } = location.params;
  const previous = useRef(/** @type {{id: string, data: BlockWithSteps} | null} */ (null));
  const request = useRequest(async (signal) => {
    const before = previous.current?.id === id ? previous.current.data : null;
    const data = await loadBlock(rpc, id, signal, before);
    previous.current = { id, data };
    return data;
  }, [id]);
  useRepeat(request, intervalOf(id, request.data));
  return html`${request.data === null && html`<h1>Block</h1>`}<${Loaded} request=${request} label="Reading the block">
    ${(/** @type {BlockWithSteps} */ data) => html`<${BlockView} data=${data} wanted=${index} />`}
  </${Loaded}>`;
}
