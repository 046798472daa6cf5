// Calls of a transaction as a tree.

import { checksumAddress } from '../../lib/address.js';
import { Ether } from '../../lib/components/amount.js';
import { Loaded } from '../../lib/components/errors.js';
import { Disclosure } from '../../lib/components/disclosure.js';
import { HexBlock } from '../../lib/components/hash.js';
import { useRequest } from '../../lib/components/request.js';
import { Badge, Facts, useBounded } from '../../lib/components/table.js';
import { html, useState } from '../../lib/components/ui.js';
import { visibleText } from '../../lib/text.js';
import { formatInteger, shortHex } from '../../lib/values.js';
import { rpc } from '../context.js';
import { CallInput, CallName, LogView, RevertReason } from '../decoded.js';
import { AddressLink } from '../links.js';
import { StateChanges } from '../state-changes.js';

/**
 * Call frame of the call tracer.
 * @typedef {{type: string, from: string, to?: string, value?: string, gas: string, gasUsed: string, input: string,
 *   output?: string, error?: string, revertReason?: string, calls?: Frame[],
 *   logs?: {address: string, topics: string[], data: string}[]}} Frame
 */

const OPEN_DEPTH = 3;
const MAX_CHILDREN = 200;
const MAX_LOGS = 50;
const TIMEOUT = 60_000;
const CALLS = { tracer: 'callTracer', tracerConfig: { withLog: true } };
const STATE_CHANGES = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };

/** @param {string} hash @param {string} block @param {object} config */
function useTrace(hash, block, config) {
  return useRequest((signal) => {
    const options = { signal, alone: true, timeout: TIMEOUT };
    return rpc.call('debug_traceTransaction', [hash, config], options);
  }, [hash, block]);
}

/** @param {{frame: Frame, to: string | null}} props */
function FrameData({ frame, to }) {
  const { error, output = '0x', logs = [] } = frame;
  return html`
    <${Facts} rows=${[
      ['From', html`<${AddressLink} address=${frame.from} full=${true} />`],
      ['To', frame.to && html`<${AddressLink} address=${frame.to} full=${true} />`],
      ['Gas', `${formatInteger(BigInt(frame.gasUsed))} of ${formatInteger(BigInt(frame.gas))}`],
    ]} />
    <${CallInput} to=${to} input=${frame.input} />
    ${error
      ? html`<h3>Error</h3><${RevertReason} to=${to} output=${output} />`
      : output !== '0x' && html`<h3>Output</h3><${HexBlock} value=${output} label="output" />`}
    <${FrameLogs} logs=${logs} />
  `;
}

/** @param {{logs: NonNullable<Frame['logs']>}} props */
function FrameLogs({ logs }) {
  const { shown, more } = useBounded(logs, MAX_LOGS);
  return html`${shown.map((log, index) => html`<${LogView} key=${index} log=${log} />`)}${more}`;
}

/** @param {{frame: Frame, depth: number}} props @returns {import('../../lib/components/ui.js').Child} */
function FrameView({ frame, depth }) {
  const calls = frame.calls ?? [];
  const [shown, setShown] = useState(MAX_CHILDREN);
  const to = frame.type.startsWith('CREATE') ? null : frame.to ?? null;
  const hasValue = frame.value !== undefined && BigInt(frame.value) > 0n;
  return html`<li>
    <${Disclosure} isOpen=${depth < OPEN_DEPTH} summary=${html`
        <span class="frame-kind">${frame.type.toLowerCase()}</span>
        ${frame.to && html`<span class="mono muted">${shortHex(checksumAddress(frame.to))}</span>`}
        <span class="mono frame-name"><${CallName} to=${to} input=${frame.input} /></span>
        ${hasValue && html`<${Ether} value=${frame.value} digits=${6} />`}
        <span class="muted number">${formatInteger(BigInt(frame.gasUsed))} gas</span>
        ${frame.error && html`<${Badge} tone="bad">${visibleText(frame.error, 60)}</${Badge}>`}
      `}>
      ${() => html`<div class="frame-body">
        <${Disclosure} summary="Details">${() => html`<${FrameData} frame=${frame} to=${to} />`}</${Disclosure}>
        ${calls.length > 0 && html`<ul class="frames">${calls.slice(0, shown).map((call, index) =>
          html`<${FrameView} key=${index} frame=${call} depth=${depth + 1} />`)}</ul>`}
        ${calls.length > shown && html`<button type="button" class="button" onClick=${() => setShown(shown + MAX_CHILDREN)}>
          Show more of ${formatInteger(calls.length)} calls</button>`}
      </div>`}
    </${Disclosure}>
  </li>`;
}

/** @param {{hash: string, block: string}} props */
export function TraceTree({ hash, block }) {
  const request = useTrace(hash, block, CALLS);
  return html`<${Loaded} request=${request} label="Executing the transaction">
    ${(/** @type {Frame} */ frame) => html`<ul class="frames frames-root"><${FrameView} frame=${frame} depth=${0} /></ul>`}
  </${Loaded}>`;
}

/** @param {{hash: string, block: string}} props */
export function TransactionStateChanges({ hash, block }) {
  const request = useTrace(hash, block, STATE_CHANGES);
  return html`<${Loaded} request=${request} label="Executing the transaction">
    ${(/** @type {any} */ diff) => html`<${StateChanges} diff=${diff} caption="State changes of the transaction" />`}
  </${Loaded}>`;
}
