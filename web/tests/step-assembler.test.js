import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FeedPoller } from '../lib/feed-poller.js';
import { StepAssembler } from '../lib/step-assembler.js';

/** @param {number} index @param {boolean} last @param {object} content */
const part = (index, last, content) => /** @type {any} */ ({
  number: '0x1', index: '0x0', hash: '0xaa', ...content, part: { index: `0x${index.toString(16)}`, last },
});

const parts = () => [
  part(0, false, { parent: '0x00', transactions: [{ hash: 't0' }], receipts: [{ transactionHash: 't0', status: '0x1', logs: [1, 2] }] }),
  part(1, false, { transactions: [], receipts: [{ transactionHash: 't0', logs: [3] }] }),
  part(2, true, { transactions: [{ hash: 't1' }], receipts: [{ transactionHash: 't0', logs: [4] }, { transactionHash: 't1', logs: [] }] }),
];

const whole = {
  number: '0x1', index: '0x0', hash: '0xaa', parent: '0x00',
  transactions: [{ hash: 't0' }, { hash: 't1' }],
  receipts: [{ transactionHash: 't0', status: '0x1', logs: [1, 2, 3, 4] }, { transactionHash: 't1', logs: [] }],
};

test('parts are joined to the step', () => {
  const assembler = new StepAssembler();
  assert.deepEqual(parts().map((message) => assembler.add(message)), [null, null, whole]);
  assert.equal(assembler.isEmpty, true);
});

test('a missing part is an error', () => {
  const [first, , third] = parts();
  const assembler = new StepAssembler();
  assembler.add(first);
  assert.throws(() => assembler.add(third), /part 0x2 of step 0xaa arrived instead of part 1/);
  assert.throws(() => assembler.add(/** @type {any} */ ({ hash: '0xbb' })), /before the last part/);
});

test('a poller continues inside a step, and requests less after failures', async () => {
  const [first, second, third] = parts();
  const fail = () => { throw new Error('too large'); };
  /** @type {any[]} */
  const [params, steps] = [[], []];
  const answers = [
    fail, fail,
    () => ({ flashblocks: [first], cursor: 'inside 1', complete: false }),
    fail,
    () => ({ flashblocks: [second], cursor: 'inside 2', complete: false }),
    () => ({ flashblocks: [third], cursor: 'after', complete: false }),
    () => ({ flashblocks: [], cursor: 'after', complete: true }),
  ];
  const poller = new FeedPoller(
    /** @type {any} */ ({ call: async (/** @type {string} */ _name, /** @type {any[]} */ given) => {
      params.push(given);
      return /** @type {any} */ (answers.shift())();
    } }),
    {
      cursor: /** @type {any} */ ('before'), onStep: (step) => steps.push(step), onGap: () => assert.fail(), onPoll: () => {},
      timers: { set: () => 0, clear: () => {} },
    },
  );
  for (let count = answers.length; count > 0; count -= 1) await poller.poll();
  assert.deepEqual(params, [
    ['before', '0x40'], ['before', '0x40'], ['before', '0x1'],
    ['inside 1', '0x1'], ['inside 1', '0x1'], ['inside 2', '0x1'], ['after', '0x40'],
  ]);
  assert.deepEqual(steps, [whole]);
});
