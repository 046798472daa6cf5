import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FeedHealth } from '../explorer/feed-health.js';
import { RpcError, TimeoutError, TransportError } from '../lib/rpc.js';

test('accepted subscriptions without a step drop the cursor', () => {
  const health = new FeedHealth(() => 0);
  health.accepted();
  assert.equal(health.lost(), 'retry');
  health.accepted();
  assert.equal(health.lost(), 'drop');
});

test('connections that no node accepts lead to reads over HTTP', () => {
  const health = new FeedHealth(() => 0);
  health.accepted();
  health.progress();
  assert.deepEqual([health.lost(), health.lost(), health.lost()], ['retry', 'retry', 'poll']);
});

test('a step or a heartbeat ends a series of failures', () => {
  const health = new FeedHealth(() => 0);
  for (let round = 0; round < 5; round += 1) {
    health.accepted();
    assert.equal(health.lost(), 'retry');
    health.progress();
  }
});

test('three pages that the node cannot send drop the cursor, an unreachable node does not', () => {
  const health = new FeedHealth(() => 0);
  for (let round = 0; round < 5; round += 1) assert.equal(health.pageFailed(new TransportError('gone')), false);
  assert.equal(health.pageFailed(new RpcError({ code: -32005, data: { retryAfterMs: 10 } })), false);
  assert.equal(health.pageFailed(new TimeoutError('slow')), false);
  assert.equal(health.pageFailed(new RpcError({ code: -32005 })), false);
  assert.equal(health.pageFailed(new RpcError({ code: -32005 })), true);
});

test('a feed without progress is stalled', () => {
  let now = 0;
  const health = new FeedHealth(() => now);
  now = 15_000;
  assert.equal(health.isStalled, false);
  now = 15_001;
  assert.equal(health.isStalled, true);
  health.progress();
  assert.equal(health.isStalled, false);
});

test('each dropped cursor doubles the pause until the feed works for a minute', () => {
  let now = 0;
  const health = new FeedHealth(() => now);
  const pauses = Array.from({ length: 7 }, () => {
    const pause = health.drop() - now;
    now += pause;
    health.progress();
    return pause;
  });
  assert.deepEqual(pauses, [5000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000]);
  now += 60_001;
  health.progress();
  assert.equal(health.drop() - now, 5000);
});
