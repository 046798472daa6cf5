// Words for the states of orders, refunds and payouts.

/** @typedef {import('./types.js').Order} Order */
/** @typedef {'neutral' | 'live' | 'good' | 'bad' | 'warn'} Tone */
/** @typedef {{state: string, finality: string | null, tx_status: string | null}} StatusFields */
/** @typedef {{label: string, tone: Tone, more: string | null, hint: string | null}} ShownStatus */

/** @type {Record<string, {label: string, tone: Tone}>} */
const STATES = {
  Drafted: { label: 'Waits for a signature', tone: 'neutral' },
  'Signed, unused': { label: 'Signed', tone: 'live' },
  'Stored, unused': { label: 'Authorized', tone: 'live' },
  'Used, captured': { label: 'Captured', tone: 'good' },
  'Voided offchain': { label: 'Voided', tone: 'neutral' },
  Canceled: { label: 'Canceled', tone: 'neutral' },
  Expired: { label: 'Expired', tone: 'bad' },
  Reserved: { label: 'Reserved', tone: 'live' },
  Broadcast: { label: 'Sent', tone: 'live' },
  Complete: { label: 'Paid', tone: 'good' },
  Blocked: { label: 'Blocked', tone: 'bad' },
};
const CAPTURED = 'Used, captured';

/** @type {Record<string, {word: string, hint: string}>} */
const FINALITY = {
  provisional: { word: 'pre-confirmed', hint: 'A step or a block includes it. A reorganization can still remove it.' },
  confirmed: { word: 'confirmed', hint: 'Its block is as deep as the policy of the service requires.' },
  final: { word: 'final', hint: 'Its block can no longer be replaced.' },
};

/** @type {Record<string, string>} */
const TX_STATUS = {
  intended: 'transaction is being sent', broadcast: 'transaction waits for a block',
  unknown: 'the node has not answered yet', failed: 'transaction failed',
};

export const ORDER_STATES = Object.keys(STATES).slice(0, 7).map((value) => ({ value, label: STATES[value]?.label ?? value }));

/** Returns the word for a finality. @param {string} finality */
export const finalityWord = (finality) => FINALITY[finality]?.word ?? finality;

/** Returns the words for a status. @param {StatusFields} status @returns {ShownStatus} */
export function statusOf({ state, finality, tx_status }) {
  const { label, tone } = STATES[state] ?? { label: state, tone: 'neutral' };
  const more = finality === null ? (tx_status === null ? null : TX_STATUS[tx_status] ?? tx_status) : finalityWord(finality);
  return { label, tone: tx_status === 'failed' ? 'bad' : tone, more, hint: FINALITY[finality ?? '']?.hint ?? null };
}

/**
 * Returns the words for the status of an order. The service has no state for refunds, so the amounts decide.
 * @param {Pick<Order, 'state' | 'finality' | 'tx_status' | 'refunded' | 'payment'>} order
 * @returns {ShownStatus}
 */
export function orderStatusOf(order) {
  const found = statusOf(order);
  const refunded = BigInt(order.refunded);
  if (order.state !== CAPTURED || order.payment === null || refunded === 0n) return found;
  const isWhole = refunded >= BigInt(order.payment.amount);
  return { ...found, label: isWhole ? 'Refunded' : 'Partly refunded', tone: isWhole ? 'neutral' : 'warn' };
}
