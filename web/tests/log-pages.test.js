import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NewestFirst, OldestFirst } from '../lib/log-pages.js';
import { MergedPages } from '../lib/merged-pages.js';

/**
 * Node with a log in each of these blocks, which pages like `foreseal_getLogs`.
 * @param {readonly number[]} blocks
 */
function node(blocks) {
  /** @type {any[]} */
  const queries = [];
  const rpc = /** @type {any} */ ({
    call: async (/** @type {string} */ method, /** @type {any[]} */ [query]) => {
      assert.equal(method, 'foreseal_getLogs');
      queries.push(query);
      const { filter, cursor, limit } = query;
      const from = cursor === undefined ? Number(filter.fromBlock) : Number(cursor);
      const to = filter.toBlock === 'pending' ? Infinity : Number(filter.toBlock);
      const found = blocks.map((block, index) => ({ block, index })).filter(({ block }) => block >= from && block <= to);
      const page = found.slice(0, Number(limit));
      const next = found[page.length];
      const logs = page.map(({ block, index }) => ({ blockNumber: `0x${block.toString(16)}`, logIndex: `0x${index.toString(16)}` }));
      if (next) return { logs, cursor: `0x${next.block.toString(16)}` };
      return { logs, cursor: to === Infinity ? `0x${((page.at(-1)?.block ?? from) + 1).toString(16)}` : null };
    },
  });
  return { rpc, queries };
}

/** @param {any[]} logs */
const numbers = (logs) => logs.map((log) => Number(log.blockNumber));

/** @param {{next: () => Promise<any[]>, done: boolean}} pager */
async function all(pager) {
  const pages = [];
  while (!pager.done) pages.push(await pager.next());
  return pages;
}

test('pages by cursor return each log once', async () => {
  const { rpc } = node([1, 2, 3, 4, 5]);
  const pager = new OldestFirst(rpc, { fromBlock: '0x0', toBlock: '0x9' }, 2);
  assert.deepEqual((await all(pager)).map(numbers), [[1, 2], [3, 4], [5]]);
});

test('an open range ends with an empty page and continues later', async () => {
  const blocks = [1];
  const { rpc } = node(blocks);
  const pager = new OldestFirst(rpc, { fromBlock: '0x0', toBlock: 'pending' }, 2);
  assert.deepEqual(numbers(await pager.next()), [1]);
  assert.deepEqual(await pager.next(), []);
  assert.equal(pager.done, false);
  blocks.push(7);
  assert.deepEqual(numbers(await pager.next()), [7]);
});

test('the newest logs come first in a few searches on a long chain', async () => {
  const old = Array.from({ length: 200 }, (_, index) => index);
  const { rpc, queries } = node([...old, 500_000, 999_990]);
  const pager = new NewestFirst(rpc, {}, { limit: 2, to: 1_000_000 });
  assert.deepEqual(numbers(await pager.next()), [999_990, 500_000]);
  assert.ok(queries.length <= 7, `${queries.length} searches`);
  assert.deepEqual((await all(pager)).flatMap(numbers), old.reverse());
});

test('a long chain with few logs needs one search', async () => {
  const { rpc, queries } = node([10, 500_000, 999_990]);
  const pager = new NewestFirst(rpc, {}, { limit: 2, to: 1_000_000 });
  assert.deepEqual((await all(pager)).map(numbers), [[999_990, 500_000], [10]]);
  assert.equal(queries.length, 1);
});

test('a window with too many logs becomes smaller', async () => {
  const blocks = Array.from({ length: 5000 }, (_, index) => index);
  const { rpc } = node(blocks);
  const pager = new NewestFirst(rpc, {}, { limit: 50, to: 4999 });
  assert.deepEqual(numbers(await pager.next()), Array.from({ length: 50 }, (_, index) => 4999 - index));
  const rest = (await all(pager)).flatMap(numbers);
  assert.deepEqual(rest, Array.from({ length: 4950 }, (_, index) => 4949 - index));
});

test('merged pages are in order without duplicates', async () => {
  const one = node([1, 5, 9]).rpc;
  const sources = [
    new NewestFirst(one, {}, { limit: 2, to: 10 }),
    new NewestFirst(one, {}, { limit: 2, to: 10 }),
  ];
  const pager = new MergedPages(sources, 2);
  assert.deepEqual((await all(pager)).map(numbers), [[9, 5], [1]]);
});

test('merged pages of nothing are done after one read', async () => {
  const { rpc } = node([]);
  const pager = new MergedPages([new NewestFirst(rpc, {}, { limit: 2, to: 10 })], 2);
  assert.deepEqual(await pager.next(), []);
  assert.equal(pager.done, true);
});

test('the newest logs include those of the block under construction', async () => {
  const { rpc } = node([3, 8, 9, 10]);
  const search = rpc.call;
  rpc.call = async (/** @type {string} */ method, /** @type {any[]} */ params) =>
    method === 'eth_getBlockByNumber' ? { number: '0x9' } : search(method, params);
  const all_ = await NewestFirst.create(rpc, {}, { limit: 10 });
  assert.deepEqual(numbers(await all_.next()), [10, 9, 8, 3]);
  const sealed = await NewestFirst.create(rpc, {}, { limit: 10, from: 4, to: 8 });
  assert.deepEqual(numbers(await sealed.next()), [8]);
  assert.equal(sealed.done, true);
});
