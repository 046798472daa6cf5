// Decoded calls, events and errors. Names and texts come from the chain or from a pasted ABI, so they are only text.

import { typeName } from '../lib/abi/types.js';
import { Hash, HexBlock } from '../lib/components/hash.js';
import { useRequest } from '../lib/components/request.js';
import { html } from '../lib/components/ui.js';
import { visibleName, visibleText } from '../lib/text.js';
import { byteLength, formatInteger } from '../lib/values.js';
import { decodeCall, decodeError, decodeLog } from './abis.js';
import { AddressLink } from './links.js';

/** @typedef {import('../lib/abi/types.js').AbiType} AbiType */
/** @typedef {import('../lib/abi/encode.js').AbiValue} AbiValue */
/** @typedef {import('../lib/abi/interface.js').Argument} Argument */
/** @typedef {import('../lib/abi/interface.js').Decoded & {source: string}} Named */

const MAX_ITEMS = 100;
const LONG_BYTES = 96;
/** Longer data is shown without decoding, which would block the page. */
const MAX_DECODED = 1_000_000;

/**
 * One decoded value.
 * @param {{type: AbiType, value: AbiValue}} props
 * @returns {import('../lib/components/ui.js').Child}
 */
export function AbiValueView({ type, value }) {
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS);
    return html`<ol class="values" start="0">${shown.map((item, index) => {
      const field = type.kind === 'tuple' ? type.fields[index] : null;
      const itemType = field ? field.type : /** @type {AbiType & {kind: 'array'}} */ (type).item;
      return html`<li key=${index}>${field?.name && html`<span class="muted">${visibleName(field.name)} </span>`}
        <${AbiValueView} type=${itemType} value=${item} /></li>`;
    })}
    ${value.length > shown.length && html`<li class="muted">… ${formatInteger(value.length - shown.length)} more</li>`}
    </ol>`;
  }
  if (typeof value === 'bigint') {
    const hex = `0x${BigInt.asUintN(256, value).toString(16)}`;
    return html`<span class="number wrap-anywhere" title=${hex}>${formatInteger(value)}</span>`;
  }
  if (typeof value === 'boolean') return html`<span>${String(value)}</span>`;
  if (type.kind === 'address') return html`<${AddressLink} address=${value} full=${true} />`;
  if (type.kind === 'string') return html`<span class="text-value">${visibleText(value)}</span>`;
  if (byteLength(value) > LONG_BYTES) return html`<${HexBlock} value=${value} label="bytes" />`;
  return html`<${Hash} value=${value} full=${byteLength(value) <= 32} />`;
}

/** @param {{list: Argument[]}} props */
export function Arguments({ list }) {
  if (list.length === 0) return html`<p class="muted">No arguments.</p>`;
  return html`<dl class="facts arguments">${list.map(({ parameter, value, isHashed }, index) => html`<div key=${index}>
    <dt><span class="mono">${visibleName(parameter.name) || index}</span>
      <span class="small"> ${typeName(parameter.type).slice(0, 60)}${parameter.indexed ? ', indexed' : ''}</span></dt>
    <dd>${isHashed
      ? html`<${Hash} value=${value} full=${true} /> <span class="muted">hash of the value</span>`
      : html`<${AbiValueView} type=${parameter.type} value=${value} />`}</dd>
  </div>`)}</dl>`;
}

/** @param {{decoded: Named}} props */
function DecodedHead({ decoded }) {
  return html`<p><strong class="mono">${visibleName(decoded.fragment.name, 80)}</strong>
    <span class="muted small"> by ${decoded.source}</span></p>`;
}

/** @param {string | null} to @param {string} input */
function useDecodedCall(to, input) {
  return useRequest(async () => (to === null || input.length < 10 || input.length > MAX_DECODED ? null : decodeCall(to, input)), [to, input]);
}

/** Input of a call, decoded if an interface has its selector. @param {{to: string | null, input: string}} props */
export function CallInput({ to, input }) {
  const request = useDecodedCall(to, input);
  if (input === '0x') return html`<p class="muted">No input.</p>`;
  const decoded = request.data;
  const isPlain = !decoded && !request.isLoading;
  return html`<div class="stack">
    ${decoded && html`<div><${DecodedHead} decoded=${decoded} /><${Arguments} list=${decoded.arguments} /></div>`}
    ${isPlain && html`<p class="muted">${to === null
      ? 'Creation code of a contract.'
      : `No interface has the selector ${input.slice(0, 10)}. Paste an ABI on the page of the contract.`}</p>`}
    <details open=${isPlain}><summary>Input, ${formatInteger(byteLength(input))} bytes</summary>
      <${HexBlock} value=${input} label="input" /></details>
  </div>`;
}

/** Name of the function that a call calls, in one line. @param {{to: string | null, input: string}} props */
export function CallName({ to, input }) {
  const request = useDecodedCall(to, input);
  if (to === null) return 'create';
  if (input.length < 10) return 'transfer of value';
  return request.data ? visibleName(request.data.fragment.name, 60) : input.slice(0, 10);
}

/** Data that a reverted call returned. @param {{to: string | null, output: string}} props */
export function RevertReason({ to, output }) {
  const request = useRequest(async () => (output.length > MAX_DECODED ? null : decodeError(to, output)), [to, output]);
  const decoded = request.data;
  if (decoded) return html`<div><${DecodedHead} decoded=${decoded} /><${Arguments} list=${decoded.arguments} /></div>`;
  if (output === '0x') return html`<span class="muted">no reason</span>`;
  return html`<${HexBlock} value=${output} label="returned data" />`;
}

/** @typedef {{address: string, topics: string[], data: string, logIndex?: string}} Log */

/**
 * One log, decoded if an interface has its event.
 * @param {{log: Log, head?: import('../lib/components/ui.js').Child}} props
 */
export function LogView({ log, head }) {
  const isLong = log.data.length > MAX_DECODED;
  const request = useRequest(async () => (isLong ? null : decodeLog(log)), [log.address, log.topics.join(), log.data]);
  const decoded = request.data;
  return html`<article class="log">
    <div class="log-head">${head}<${AddressLink} address=${log.address} /></div>
    ${decoded && html`<${DecodedHead} decoded=${decoded} /><${Arguments} list=${decoded.arguments} />`}
    <details open=${!decoded && !request.isLoading}>
      <summary>Topics and data</summary>
      <dl class="facts">
        ${log.topics.map((topic, index) => html`<div key=${index}><dt>topic ${index}</dt>
          <dd><${Hash} value=${topic} full=${true} /></dd></div>`)}
        <div><dt>data</dt><dd>${log.data === '0x'
          ? html`<span class="muted">empty</span>`
          : html`<${HexBlock} value=${log.data} label="data" />`}</dd></div>
      </dl>
    </details>
  </article>`;
}
