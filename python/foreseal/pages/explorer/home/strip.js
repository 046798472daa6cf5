// Strip of steps of the block under construction, and the roots of the selected one.

import { Hash } from '../../lib/components/hash.js';
import { Badge, Facts } from '../../lib/components/table.js';
import { html, useLayoutEffect, useRef } from '../../lib/components/ui.js';
import { formatInteger, shortHex } from '../../lib/values.js';
import { StepLink } from '../links.js';

/** @typedef {import('../chain.js').BlockEntry} BlockEntry */
/** @typedef {import('../chain.js').StepEntry} StepEntry */

/** Identifies a step among withdrawn ones with the same index. @param {StepEntry} step */
export const stepKey = (step) => `${step.index}-${step.hash}`;

/**
 * @param {{step: StepEntry, isNewest: boolean, isSelected: boolean, startTime: number | null,
 *   onSelect: () => void}} props
 */
function StepCard({ step, isNewest, isSelected, startTime, onSelect }) {
  const { index, transactionCount, gasUsed, hash, time, isWithdrawn } = step;
  const state = isWithdrawn ? 'withdrawn' : isNewest ? 'newest' : 'done';
  const count = transactionCount === 0 ? 'no' : `+${formatInteger(transactionCount)}`;
  const offset = time !== null && startTime !== null ? `+${time - startTime} ms` : '';
  return html`<li class="step" data-state=${state}>
    <button type="button" aria-pressed=${isSelected ? 'true' : 'false'} onClick=${onSelect}>
      <span class="step-head"><span>Step ${index}</span>${isWithdrawn
        ? html`<span class="step-state">withdrawn</span>`
        : html`<span class="muted">${offset}</span>`}</span>
      <span class="step-count">${count}<span class="unit"> tx</span></span>
      <span class="muted">${formatInteger(gasUsed)} gas</span>
      <span class="mono muted">${shortHex(hash, 4, 4)}</span>
    </button>
  </li>`;
}

/**
 * @param {{block: BlockEntry, selected: StepEntry | null, onSelect: (key: string | null) => void}} props
 */
export function StepStrip({ block, selected, onSelect }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const follows = useRef(true);
  const { steps } = block;
  const newest = steps.findLast((step) => !step.isWithdrawn);
  useLayoutEffect(() => {
    const element = list.current;
    if (element && follows.current) element.scrollLeft = element.scrollWidth;
  }, [steps.length, block.number]);
  const onScroll = () => {
    const element = list.current;
    if (element) follows.current = element.scrollWidth - element.scrollLeft - element.clientWidth < 40;
  };
  const startTime = steps.find((step) => step.time !== null)?.time ?? null;
  return html`<ol class="strip" ref=${list} onScroll=${onScroll} tabindex="0" aria-label=${`Steps of block ${block.number}`}>
    ${steps.map((step) => html`<${StepCard} key=${stepKey(step)} step=${step} isNewest=${step === newest}
      isSelected=${step === selected} startTime=${startTime}
      onSelect=${() => onSelect(step === newest ? null : stepKey(step))} />`)}
    <li class="step step-next" aria-hidden="true"></li>
  </ol>`;
}

const ROOTS = /** @type {const} */ ([
  ['hash', 'Block hash'],
  ['stateRoot', 'State root'],
  ['transactionsRoot', 'Transactions root'],
  ['receiptsRoot', 'Receipts root'],
]);

/**
 * Hash and roots of a step, with a mark for those that the step changed.
 * @param {{block: BlockEntry, step: StepEntry}} props
 */
export function StepRoots({ block, step }) {
  const before = block.steps.findLast((one) => one.index < step.index && !one.isWithdrawn);
  const rows = ROOTS.map(([field, label]) => {
    const value = /** @type {string} */ (step.header[field]);
    const isChanged = before !== undefined && before.header[field] !== value;
    return /** @type {const} */ ([
      label,
      html`<${Hash} value=${value} full=${true} /> ${isChanged && html`<${Badge} tone="live">changed</${Badge}>`}`,
    ]);
  });
  const name = `Step ${step.index} of block ${formatInteger(block.number)}`;
  return html`<div class="step-roots">
    <p class="step-roots-title"><${StepLink} number=${block.number} index=${step.index} label=${name} />
      ${step.isWithdrawn && html` <${Badge} tone="bad">withdrawn</${Badge}>`}</p>
    <${Facts} rows=${rows} />
  </div>`;
}
