import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FeedStream, PoolStream, webSocketUrl } from '../lib/stream.js';

/** Socket that records what the client sends. */
class FakeSocket {
  /** @type {any[]} */
  sent = [];
  isClosed = false;
  /** @type {any} */ onopen = null;
  /** @type {any} */ onmessage = null;
  /** @type {any} */ onclose = null;
  /** @type {any} */ onerror = null;

  /** @param {string} text */
  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.isClosed = true;
  }

  /** @param {object} message */
  deliver(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  /** Answers the newest subscription. @param {string} id */
  accept(id) {
    this.deliver({ jsonrpc: '2.0', id: this.sent.at(-1).id, result: id });
  }

  /** @param {string} subscription @param {object} result */
  notify(subscription, result) {
    this.deliver({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } });
  }
}

/** Stream over fake sockets and a manual clock. @param {(options: any) => any} create */
function harness(create) {
  /** @type {FakeSocket[]} */
  const sockets = [];
  /** @type {{run: () => void, ms: number}[]} */
  let timers = [];
  /** @type {string[]} */
  const states = [];
  const options = {
    createSocket: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    timers: {
      set: (/** @type {() => void} */ run, /** @type {number} */ ms) => {
        const timer = { run, ms };
        timers.push(timer);
        return timer;
      },
      clear: (/** @type {any} */ timer) => {
        timers = timers.filter((one) => one !== timer);
      },
    },
    random: () => 1,
    onState: (/** @type {string} */ state) => states.push(state),
  };
  const stream = create(options);
  /** Runs the timers of this delay. @param {(ms: number) => boolean} matches */
  const fire = (matches) => {
    const due = timers.filter((timer) => matches(timer.ms));
    timers = timers.filter((timer) => !due.includes(timer));
    due.forEach((timer) => timer.run());
    return due.map((timer) => timer.ms);
  };
  return { stream, sockets, states, fire, socket: () => /** @type {FakeSocket} */ (sockets.at(-1)) };
}

/**
 * @param {number} number
 * @param {number} index
 * @param {string} hash
 * @param {string} parent
 * @param {boolean} [removed]
 */
const step = (number, index, hash, parent, removed = false) => ({
  number: `0x${number.toString(16)}`, index: `0x${index.toString(16)}`, hash, parent, time: '0x1', signature: null, header: {}, transactions: [], receipts: [], removed,
});

/** @param {object} [more] */
function feed(more = {}) {
  /** @type {any[]} */
  const steps = [];
  const gaps = { count: 0 };
  const parts = harness((options) => new FeedStream('ws://node/', {
    ...options, ...more, onStep: (message) => steps.push(message), onGap: () => { gaps.count += 1; },
  }));
  return { ...parts, steps, gaps };
}

test('the address has the security of its origin', () => {
  assert.equal(webSocketUrl('https://node/'), 'wss://node/');
  assert.equal(webSocketUrl('http://node:1/'), 'ws://node:1/');
});

test('the feed delivers steps in order and advances its cursor', () => {
  const { stream, socket, steps, states } = feed();
  stream.start();
  socket().onopen();
  assert.deepEqual(socket().sent[0], { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['foreseal_feed'] });
  socket().accept('0xa');
  socket().notify('0xother', step(9, 9, 'x', 'y'));
  socket().notify('0xa', step(5, 0, 'h0', 'p'));
  socket().notify('0xa', { heartbeat: { block: '0x5', index: '0x0', hash: 'h0' } });
  socket().notify('0xa', step(5, 1, 'h1', 'h0'));
  assert.deepEqual(steps.map((one) => one.hash), ['h0', 'h1']);
  assert.deepEqual(stream.cursor, { block: '0x5', index: '0x1', hash: 'h1' });
  assert.deepEqual(states, ['connecting', 'live']);
});

test('a lost connection resumes at the cursor after a growing delay', () => {
  const { stream, socket, sockets, fire, states } = feed({ cursor: { block: '0x4', index: '0x9', hash: 'p' } });
  stream.start();
  socket().onopen();
  assert.deepEqual(socket().sent[0].params, ['foreseal_feed', { block: '0x4', index: '0x9', hash: 'p' }]);
  socket().accept('0xa');
  socket().notify('0xa', step(5, 0, 'h0', 'p'));
  socket().onclose({});
  assert.equal(states.at(-1), 'waiting');
  assert.deepEqual(fire((ms) => ms < 20_000), [250]);
  socket().onclose({});
  assert.deepEqual(fire((ms) => ms < 20_000), [500]);
  socket().onopen();
  assert.equal(sockets.length, 3);
  assert.deepEqual(socket().sent[0].params, ['foreseal_feed', { block: '0x5', index: '0x0', hash: 'h0' }]);
});

test('messages of a dropped connection are ignored', () => {
  const { stream, sockets, socket, fire, steps } = feed();
  stream.start();
  socket().onopen();
  socket().accept('0xa');
  const old = /** @type {FakeSocket} */ (sockets[0]);
  const listener = old.onmessage;
  old.onclose({});
  fire((ms) => ms < 20_000);
  listener({ data: JSON.stringify({ method: 'eth_subscription', params: { subscription: '0xa', result: step(5, 0, 'h0', 'p') } }) });
  assert.equal(steps.length, 0);
});

test('a silent connection is replaced', () => {
  const { stream, sockets, socket, fire } = feed();
  stream.start();
  socket().onopen();
  socket().accept('0xa');
  fire((ms) => ms >= 20_000);
  assert.equal(sockets[0]?.isClosed, true);
  fire((ms) => ms < 20_000);
  assert.equal(sockets.length, 2);
});

test('a lagging feed subscribes again from its cursor', () => {
  const { stream, socket } = feed();
  stream.start();
  socket().onopen();
  socket().accept('0xa');
  socket().notify('0xa', step(5, 0, 'h0', 'p'));
  socket().deliver({ method: 'foreseal_lagged', params: { subscription: '0xa', result: {} } });
  const [, unsubscribe, subscribe] = socket().sent;
  assert.deepEqual([unsubscribe.method, unsubscribe.params], ['eth_unsubscribe', ['0xa']]);
  assert.deepEqual(subscribe.params, ['foreseal_feed', { block: '0x5', index: '0x0', hash: 'h0' }]);
});

test('a step that does not follow is fetched again, never skipped', () => {
  const { stream, socket, steps } = feed();
  stream.start();
  socket().onopen();
  socket().accept('0xa');
  socket().notify('0xa', step(5, 0, 'h0', 'p'));
  socket().notify('0xa', step(5, 2, 'h2', 'h1'));
  assert.equal(steps.length, 1);
  assert.deepEqual(socket().sent.at(-1).params[1], { block: '0x5', index: '0x0', hash: 'h0' });
  socket().notify('0xa', step(5, 3, 'h3', 'h2'));
  socket().accept('0xb');
  socket().notify('0xb', step(5, 1, 'h1', 'h0'));
  socket().notify('0xb', step(5, 2, 'h2', 'h1'));
  assert.deepEqual(steps.map((one) => one.hash), ['h0', 'h1', 'h2']);
});

test('a heartbeat of another step fetches the missing ones', () => {
  const { stream, socket } = feed();
  stream.start();
  socket().onopen();
  socket().accept('0xa');
  socket().notify('0xa', step(5, 0, 'h0', 'p'));
  socket().notify('0xa', { heartbeat: { block: '0x5', index: '0x3', hash: 'h3' } });
  assert.equal(socket().sent.at(-1).method, 'eth_subscribe');
});

test('withdrawn steps move the cursor back, also across blocks', () => {
  const { stream, socket, steps } = feed();
  stream.start();
  socket().onopen();
  socket().accept('0xa');
  socket().notify('0xa', step(4, 1, 'g1', 'g0'));
  socket().notify('0xa', step(5, 0, 'h0', 'g1'));
  socket().notify('0xa', step(5, 1, 'h1', 'h0'));
  socket().notify('0xa', step(5, 1, 'h1', 'h0', true));
  assert.deepEqual(stream.cursor, { block: '0x5', index: '0x0', hash: 'h0' });
  socket().notify('0xa', step(5, 0, 'h0', 'g1', true));
  assert.deepEqual(stream.cursor, { block: '0x4', index: '0x1', hash: 'g1' });
  socket().notify('0xa', step(5, 0, 'k0', 'g1'));
  assert.equal(steps.length, 6);
  assert.deepEqual(stream.cursor, { block: '0x5', index: '0x0', hash: 'k0' });
});

test('an expired cursor reports a gap and starts at the newest step', () => {
  const { stream, socket, gaps } = feed({ cursor: { block: '0x1', index: '0x0', hash: 'old' } });
  stream.start();
  socket().onopen();
  socket().deliver({ id: socket().sent.at(-1).id, error: { code: -32001, message: 'unknown cursor' } });
  assert.equal(gaps.count, 1);
  assert.deepEqual(socket().sent.at(-1).params, ['foreseal_feed']);
});

test('a forbidden subscription fails, a full node is tried again', () => {
  const forbidden = feed();
  forbidden.stream.start();
  forbidden.socket().onopen();
  forbidden.socket().deliver({ id: 1, error: { code: -32004, message: 'not allowed' } });
  assert.equal(forbidden.states.at(-1), 'failed');
  assert.deepEqual(forbidden.fire(() => true), []);
  const full = feed();
  full.stream.start();
  full.socket().onopen();
  full.socket().deliver({ id: 1, error: { code: -32005, message: 'too many' } });
  assert.equal(full.states.at(-1), 'waiting');
});

test('a stopped stream stays closed', () => {
  const { stream, socket, fire, sockets, states } = feed();
  stream.start();
  socket().onopen();
  stream.stop();
  assert.equal(socket().isClosed, true);
  assert.equal(states.at(-1), 'stopped');
  assert.deepEqual(fire(() => true), []);
  assert.equal(sockets.length, 1);
});

test('a stream that is stopped by its listener does not return', () => {
  /** @type {FeedStream | null} */
  let own = null;
  const { stream, socket, fire, sockets } = harness((options) => new FeedStream('ws://node/', {
    ...options, onStep: () => {}, onState: (state) => { if (state === 'waiting') own?.stop(); },
  }));
  own = stream;
  stream.start();
  socket().onclose({});
  assert.equal(stream.state, 'stopped');
  assert.deepEqual(fire(() => true), []);
  assert.equal(sockets.length, 1);
});

test('text that is not JSON drops the connection', () => {
  const { stream, socket, states } = feed();
  stream.start();
  socket().onopen();
  socket().onmessage({ data: '<html>' });
  assert.equal(states.at(-1), 'waiting');
});

test('pool transactions arrive by hash or in full', () => {
  /** @type {any[]} */
  const seen = [];
  const { stream, socket } = harness((options) => new PoolStream('ws://node/', { ...options, full: true, onTransaction: (one) => seen.push(one) }));
  stream.start();
  socket().onopen();
  assert.deepEqual(socket().sent[0].params, ['newPendingTransactions', true]);
  socket().accept('0xp');
  socket().notify('0xp', { hash: '0x1' });
  assert.deepEqual(seen, [{ hash: '0x1' }]);
});
