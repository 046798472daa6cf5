// Status of a transaction as a line of stages.

import { html } from '../../lib/components/ui.js';
import { visibleText } from '../../lib/text.js';
import { parseCount } from '../../lib/values.js';
import { BlockLink, StepLink, TransactionLink } from '../links.js';

/**
 * @typedef {{status: 'unknown' | 'queued' | 'pooled' | 'preconfirmed' | 'sealed' | 'dropped' | 'replaced',
 *   reason?: string, replacedBy?: string, blockNumber?: string, flashblockIndex?: string}} TransactionStatus
 */
/** @typedef {{safe: string | null, finalized: string | null}} NodeStatus */
/** @typedef {{label: string, isReached: boolean, detail?: import('../../lib/components/ui.js').Child}} Stage */

const ORDER = ['queued', 'pooled', 'preconfirmed', 'sealed', 'safe', 'finalized'];

/**
 * Returns the stage that the transaction has reached.
 * @param {TransactionStatus} status
 * @param {NodeStatus} node
 */
export function stageOf({ status, blockNumber }, { safe, finalized }) {
  if (status !== 'sealed' || blockNumber === undefined) return status;
  const number = parseCount(blockNumber);
  if (finalized !== null && number <= parseCount(finalized)) return 'finalized';
  return safe !== null && number <= parseCount(safe) ? 'safe' : 'sealed';
}

/** @param {{status: TransactionStatus}} props */
function Outcome({ status }) {
  if (status.status === 'dropped') {
    const reason = visibleText(status.reason ?? 'no reason', 300);
    return html`<p class="notice notice-error">Dropped from the pool: ${reason}.</p>`;
  }
  if (status.status === 'replaced') {
    return html`<div class="notice notice-warn"><p>Replaced by another transaction of the sender:</p>
      <${TransactionLink} hash=${status.replacedBy} full=${true} /></div>`;
  }
  if (status.status === 'unknown') {
    return html`<p class="notice">The node has not received this transaction, or it was dropped long ago.
      This page waits for it.</p>`;
  }
  if (status.status !== 'queued') return null;
  return html`<p class="notice notice-warn">In the queue: it ${visibleText(status.reason ?? 'waits', 300)}.</p>`;
}

/** @param {{status: TransactionStatus, node: NodeStatus}} props */
export function LifeCycle({ status, node }) {
  const stage = stageOf(status, node);
  const reached = ORDER.indexOf(stage);
  const number = status.blockNumber === undefined ? null : parseCount(status.blockNumber);
  const index = status.flashblockIndex === undefined ? null : parseCount(status.flashblockIndex);
  const inBlock = number !== null && html`block <${BlockLink} number=${number} />`;
  const inStep = number !== null && index !== null
    && html`<${StepLink} number=${number} index=${index} label=${`step ${index}`} />`;
  /** @type {Stage[]} */
  const stages = [
    { label: stage === 'queued' ? 'Queued' : 'In the pool', isReached: reached >= (stage === 'queued' ? 0 : 1) },
    { label: 'Pre-confirmed', isReached: reached >= 2, detail: inStep },
    { label: 'Sealed', isReached: reached >= 3, detail: reached >= 3 ? inBlock : null },
    { label: 'Safe', isReached: reached >= 4 },
    { label: 'Finalized', isReached: reached >= 5 },
  ];
  const current = stages.findLast((one) => one.isReached);
  return html`<div class="stack" aria-live="polite">
    <ol class="life-cycle" aria-label="Life cycle of the transaction">
      ${stages.map((one) => html`<li key=${one.label} data-reached=${one.isReached ? 'true' : 'false'}
        aria-current=${one === current ? 'step' : undefined}>
        <span>${one.label}</span>${one.detail && html`<span class="small muted">${one.detail}</span>`}
      </li>`)}
    </ol>
    <${Outcome} status=${status} />
  </div>`;
}
