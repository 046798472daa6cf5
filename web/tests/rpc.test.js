import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RpcClient, RpcError, TimeoutError, TransportError, isAbort } from '../lib/rpc.js';

/** Client whose requests go to a function. @param {(request: any) => any} answer @param {object} [options] */
function client(answer, options = {}) {
  /** @type {any[]} */
  const requests = [];
  const fetch = async (/** @type {string} */ _url, /** @type {any} */ { body, signal }) => {
    const request = JSON.parse(body);
    requests.push(request);
    const result = await Promise.race([
      answer(request),
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))),
    ]);
    return /** @type {any} */ ({ status: 200, text: async () => (typeof result === 'string' ? result : JSON.stringify(result)) });
  };
  return { rpc: new RpcClient('http://node/', { fetch, ...options }), requests };
}

/** @param {any} request */
const echo = (request) =>
  Array.isArray(request) ? request.map(echo) : { jsonrpc: '2.0', id: request.id, result: request.params };

test('calls of one task travel in one batch, in any order of answers', async () => {
  const { rpc, requests } = client((request) => echo(request).reverse());
  const results = await Promise.all([1, 2, 3].map((value) => rpc.call('m', [value])));
  assert.deepEqual(results, [[1], [2], [3]]);
  assert.equal(requests.length, 1);
});

test('one call is no batch, and a large batch is divided', async () => {
  const { rpc, requests } = client(echo, { maxBatch: 2 });
  await rpc.call('m', [1]);
  await Promise.all([1, 2, 3].map((value) => rpc.call('m', [value])));
  assert.deepEqual(requests.map((request) => (Array.isArray(request) ? request.length : 'single')), ['single', 2, 'single']);
});

test('a long call does not delay a batch', async () => {
  const { rpc, requests } = client(echo);
  await Promise.all([rpc.call('a'), rpc.call('b', [], { alone: true }), rpc.call('c')]);
  assert.equal(requests.length, 2);
});

test('errors have code, message and data', async () => {
  const { rpc } = client(({ id }) => ({ id, error: { code: 3, message: 'execution reverted', data: '0x08c379a0' } }));
  await assert.rejects(rpc.call('eth_call'), (error) =>
    error instanceof RpcError && error.code === 3 && error.message === 'execution reverted' && error.data === '0x08c379a0');
});

test('an error of the whole batch fails each call', async () => {
  const { rpc } = client(() => ({ id: null, error: { code: -32600, message: 'batch too large' } }));
  const results = await Promise.allSettled([rpc.call('a'), rpc.call('b')]);
  assert.deepEqual(results.map((result) => result.status), ['rejected', 'rejected']);
});

test('a rate-limited read is repeated, a submission is not', async () => {
  let calls = 0;
  const { rpc } = client(({ id }) => {
    calls += 1;
    if (calls === 1) return { id, error: { code: -32005, message: 'rate', data: { limit: 'rate', retryAfterMs: 5 } } };
    return { id, result: 'ok' };
  });
  assert.equal(await rpc.call('eth_chainId'), 'ok');
  calls = 0;
  await assert.rejects(rpc.call('eth_sendRawTransaction'), RpcError);
});

test('a rate limit that lasts is an error', async () => {
  let calls = 0;
  const { rpc } = client(({ id }) => {
    calls += 1;
    return { id, error: { code: -32005, message: 'rate', data: { retryAfterMs: 1 } } };
  });
  await assert.rejects(rpc.call('eth_chainId'), RpcError);
  assert.equal(calls, 4);
});

test('a slow node is a timeout', async () => {
  const { rpc } = client(() => new Promise(() => {}), { timeout: 5 });
  await assert.rejects(rpc.call('eth_chainId'), TimeoutError);
});

test('responses that are not JSON-RPC are transport errors', async () => {
  for (const answer of ['<html>', '5', '[]', 'null']) {
    const { rpc } = client(() => answer);
    await assert.rejects(rpc.call('eth_chainId'), TransportError, answer);
  }
});

test('a cancelled call is an abort and leaves the others alone', async () => {
  const { rpc } = client(echo);
  const controller = new AbortController();
  const cancelled = rpc.call('a', [], { signal: controller.signal });
  const other = rpc.call('b', [7]);
  controller.abort();
  await assert.rejects(cancelled, isAbort);
  assert.deepEqual(await other, [7]);
  await assert.rejects(rpc.call('a', [], { signal: controller.signal }), isAbort);
});
