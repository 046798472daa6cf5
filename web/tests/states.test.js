import assert from 'node:assert/strict';
import { test } from 'node:test';

import { finalityWord, orderStatusOf, statusOf } from '../dashboard/states.js';

/** @param {string} refunded @param {object} [more] @returns {any} */
const captured = (refunded, more = {}) =>
  ({ state: 'Used, captured', finality: 'confirmed', tx_status: null, refunded, payment: { amount: '12500000' }, ...more });

test('the amounts of an order decide if it is refunded', () => {
  for (const [refunded, label] of [['0', 'Captured'], ['1', 'Partly refunded'], ['12499999', 'Partly refunded'], ['12500000', 'Refunded']]) {
    assert.equal(orderStatusOf(captured(/** @type {string} */ (refunded))).label, label);
  }
  assert.equal(orderStatusOf(captured('5000000')).more, 'confirmed');
  assert.equal(orderStatusOf(captured('0', { state: 'Expired', finality: null, payment: null })).label, 'Expired');
});

test('statuses are plain words', () => {
  assert.deepEqual(statusOf({ state: 'Complete', finality: 'provisional', tx_status: null }).more, 'pre-confirmed');
  assert.equal(statusOf({ state: 'Complete', finality: 'provisional', tx_status: null }).label, 'Paid');
  const failed = statusOf({ state: 'Reserved', finality: null, tx_status: 'failed' });
  assert.deepEqual([failed.tone, failed.more], ['bad', 'transaction failed']);
  assert.deepEqual(statusOf({ state: 'Drafted', finality: null, tx_status: null }), { label: 'Waits for a signature', tone: 'neutral', more: null, hint: null });
  assert.deepEqual(['provisional', 'final', 'other'].map(finalityWord), ['pre-confirmed', 'final', 'other']);
});
