import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';

import { Live } from '../explorer/live.js';

/** Sockets that accept each subscription. @type {FakeSocket[]} */
let sockets = [];

class FakeSocket {
  /** @type {any} */ onopen = null;
  /** @type {any} */ onmessage = null;
  /** @type {any} */ onclose = null;
  /** Parameters of the subscription. @type {any} */ cursor = null;

  constructor() {
    sockets.push(this);
    queueMicrotask(() => this.onopen?.({}));
  }

  /** @param {string} text */
  send(text) {
    const { id, params } = JSON.parse(text);
    this.cursor = params[1];
    queueMicrotask(() => this.receive({ id, result: 's' }));
  }

  /** @param {any} message */
  receive(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  close() {}

  /** The server closes the connection. */
  lose() {
    this.onclose?.({});
  }
}

beforeEach(() => {
  sockets = [];
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  Object.assign(globalThis, {
    WebSocket: FakeSocket, document: { hidden: false, addEventListener() {} },
    requestAnimationFrame: (/** @type {() => void} */ run) => { queueMicrotask(run); return 1; },
  });
});

/** Lets pending promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** @param {number} ms */
async function pass(ms) {
  for (let left = ms; left > 0; left -= 500) {
    mock.timers.tick(Math.min(500, left));
    await settle();
  }
}

/** A node with empty blocks; `chain.number` is the block under construction. */
function node() {
  const chain = { number: 5 };
  /** @type {string[]} */
  const calls = [];
  const at = () => ({ block: `0x${chain.number.toString(16)}`, index: '0x0', hash: `h${chain.number}` });
  const rpc = /** @type {any} */ ({
    call: async (/** @type {string} */ method, /** @type {any[]} */ [first]) => {
      calls.push(method);
      if (method === 'eth_chainId') return '0x1';
      if (method === 'foreseal_getFlashblocks') return { flashblocks: [], cursor: at(), complete: true };
      const number = first.blockNumber;
      return { number, hash: `h${Number(number)}`, gasUsed: '0x0', size: '0x100', timestamp: '0x1', transactions: [] };
    },
  });
  return { rpc: /** @type {any} */ ({ ...rpc, call: (/** @type {string} */ method, params = []) => rpc.call(method, params) }), chain, calls };
}

test('a cursor that brings no step is dropped, and the newest block is read until the feed works again', async () => {
  const { rpc, chain, calls } = node();
  const live = new Live(rpc, 'http://node/');
  live.subscribe(() => {});
  await settle();
  assert.deepEqual([live.state, sockets[0]?.cursor.hash], ['live', 'h5']);
  // The step after block 5 is too large for the connection: the server closes each that resumes before it.
  chain.number = 6;
  sockets[0]?.lose();
  await pass(1000);
  assert.equal(sockets[1]?.cursor.hash, 'h5');
  sockets[1]?.lose();
  await settle();
  assert.equal(live.state, 'reading');
  assert.equal(live.model.pending?.number, 6);
  chain.number = 7;
  await pass(3000);
  assert.deepEqual([live.state, live.model.pending?.number, sockets.length], ['reading', 7, 2]);
  await pass(5000);
  assert.deepEqual([live.state, sockets.length, sockets[2]?.cursor.hash], ['live', 3, 'h7']);
  assert.ok(calls.length < 30, `${calls.length} calls`);
});

test('cursors that fail again and again are tried ever more rarely', async () => {
  const { rpc, chain } = node();
  const live = new Live(rpc, 'http://node/');
  live.subscribe(() => {});
  await settle();
  for (let second = 0; second < 300; second += 1) {
    chain.number += 1;
    for (const socket of sockets) socket.lose();
    await pass(1000);
  }
  assert.ok(sockets.length <= 16, `${sockets.length} connections`);
  assert.ok(Number(live.model.pending?.number) >= chain.number - 5);
});

test('a subscription without steps and heartbeats is dropped unless its cursor is the newest step', async () => {
  const { rpc, chain } = node();
  const live = new Live(rpc, 'http://node/');
  live.subscribe(() => {});
  await settle();
  await pass(25_000);
  assert.deepEqual([live.state, sockets.length], ['live', 1]);
  chain.number = 6;
  await pass(24_000);
  assert.equal(live.model.pending?.number, 6);
  assert.equal(sockets.at(-1)?.cursor.hash, 'h6');
});
