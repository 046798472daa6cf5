import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FeedPoller } from '../lib/feed-poller.js';
import { RpcError } from '../lib/rpc.js';

/** @param {(() => any)[]} answers */
function harness(answers) {
  /** @type {any[]} */
  const [cursors, steps, polls, waits] = [[], [], [], []];
  const gaps = { count: 0 };
  const rpc = /** @type {any} */ ({
    call: async (/** @type {string} */ _method, /** @type {any[]} */ [cursor]) => {
      cursors.push(cursor);
      const answer = answers.shift();
      if (!answer) throw new Error('no answer');
      return answer();
    },
  });
  const poller = new FeedPoller(rpc, {
    cursor: /** @type {any} */ ('c0'),
    onStep: (step) => steps.push(step),
    onGap: () => { gaps.count += 1; },
    onPoll: (error) => polls.push(error),
    timers: { set: (_run, ms) => waits.push(ms), clear: () => {} },
  });
  return { poller, cursors, steps, polls, waits, gaps };
}

/** @param {string[]} flashblocks @param {string} cursor @param {boolean} complete */
const page = (flashblocks, cursor, complete) => () => ({ flashblocks, cursor, complete });

test('pages continue at the cursor, and at once until the newest step', async () => {
  const { poller, cursors, steps, waits } = harness([page(['a', 'b'], 'c2', false), page(['c'], 'c3', true), page([], 'c3', true)]);
  await poller.poll();
  await poller.poll();
  await poller.poll();
  assert.deepEqual(cursors, ['c0', 'c2', 'c3']);
  assert.deepEqual(steps, ['a', 'b', 'c']);
  assert.deepEqual(waits, [0, 1000, 1000]);
});

test('an unreachable node is polled more slowly and reported', async () => {
  const fail = () => { throw new Error('unreachable'); };
  const { poller, waits, polls } = harness([fail, fail, page([], 'c1', true)]);
  for (let round = 0; round < 3; round += 1) await poller.poll();
  assert.deepEqual(waits, [2000, 4000, 1000]);
  assert.deepEqual(polls.map((error) => error?.message ?? null), ['unreachable', 'unreachable', null]);
});

test('an expired cursor ends the polling with a gap', async () => {
  const { poller, gaps, waits } = harness([() => { throw new RpcError({ code: -32001, message: 'gone' }); }]);
  await poller.poll();
  assert.equal(gaps.count, 1);
  assert.deepEqual(waits, []);
});
