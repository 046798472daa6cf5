import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NewestFirst, OldestFirst } from '../lib/log-pages.js';
import { MergedPages } from '../lib/merged-pages.js';
import { PageReader } from '../lib/page-reader.js';

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
      const first = cursor === undefined ? 0 : Number(cursor);
      const to = filter.toBlock === 'pending' ? Infinity : Number(filter.toBlock);
      const found = blocks
        .map((block, index) => ({ block, index }))
        .filter(({ block, index }) => index >= first && block >= Number(filter.fromBlock) && block <= to);
      const page = found.slice(0, Number(limit));
      const next = page.length < found.length || to === Infinity ? (page.at(-1)?.index ?? first - 1) + 1 : null;
      const logs = page.map(({ block, index }) => ({ blockNumber: `0x${block.toString(16)}`, logIndex: `0x${index.toString(16)}` }));
      return { logs, cursor: next === null ? null : `0x${next.toString(16)}` };
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

/** @param {import('../lib/log-pages.js').LogPager} pager @param {number} limit */
function reader(pager, limit) {
  const pages = new PageReader(pager, limit);
  const read = async (signal = new AbortController().signal) => {
    /** @type {any[]} */
    const logs = [];
    const isFull = await pages.read((found) => logs.push(...found), signal);
    return { logs: numbers(logs), isFull };
  };
  return { pages, read };
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
  const { logs, isFull } = await reader(pager, 2).read();
  assert.deepEqual([logs, isFull], [[999_990, 500_000], true]);
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
  const { rpc, queries } = node(blocks);
  const pager = new NewestFirst(rpc, {}, { limit: 50, to: 4999 });
  const { pages, read } = reader(pager, 50);
  assert.deepEqual((await read()).logs, Array.from({ length: 50 }, (_, index) => 4999 - index));
  assert.ok(queries.length <= 6, `${queries.length} searches`);
  const rest = [];
  while (!pages.done) rest.push(...(await read()).logs);
  assert.deepEqual(rest, Array.from({ length: 4950 }, (_, index) => 4949 - index));
});

test('merged pages are in order without duplicates', async () => {
  const one = node([1, 5, 9]).rpc;
  const sources = [
    new NewestFirst(one, {}, { limit: 2, to: 10 }),
    new NewestFirst(one, {}, { limit: 2, to: 10 }),
  ];
  const { read } = reader(new MergedPages(sources), 2);
  assert.deepEqual([(await read()).logs, (await read()).logs], [[9, 5], [1]]);
});

test('merged pages of nothing are done after one read', async () => {
  const { rpc } = node([]);
  const pager = new MergedPages([new NewestFirst(rpc, {}, { limit: 2, to: 10 })]);
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

/** A node with two blocks of many logs, among others with one. */
function nodeWithGiantBlocks(size = 41_700) {
  const giants = [20, 21].flatMap((block) => Array.from({ length: size }, () => block));
  return node([3, 8, ...giants, 25]);
}

test('a block with many logs gives rows after few small reads', async () => {
  const { rpc, queries } = nodeWithGiantBlocks();
  const { pages, read } = reader(new NewestFirst(rpc, {}, { limit: 25, to: 30 }), 25);
  const first = await read();
  assert.deepEqual(first.logs, [25, ...Array.from({ length: 24 }, () => 21)]);
  assert.equal(first.isFull, true);
  assert.ok(queries.length <= 6, `${queries.length} searches`);
  assert.ok(queries.every(({ limit }) => Number(limit) <= 100));
  const before = queries.length;
  for (let page = 0; page < 8; page += 1) assert.deepEqual((await read()).logs, Array.from({ length: 25 }, () => 21));
  assert.ok(queries.length - before <= 3, `${queries.length - before} searches for 8 pages`);
  assert.equal(pages.done, false);
});

test('the logs of blocks with many come each once', async () => {
  const { rpc } = nodeWithGiantBlocks(2000);
  const pager = new NewestFirst(rpc, {}, { limit: 100, to: 30 });
  const logs = (await all(pager)).flat();
  const keys = logs.map((log) => `${log.blockNumber}.${log.logIndex}`);
  assert.equal(keys.length, 2 * 2000 + 3);
  assert.equal(new Set(keys).size, keys.length);
  const blocks = numbers(logs);
  assert.ok(blocks.every((block, index) => index === 0 || block <= /** @type {number} */ (blocks[index - 1])));
});

test('the block under construction may have many logs, and more while they are read', async () => {
  const blocks = [3, ...Array.from({ length: 500 }, () => 9)];
  const { rpc } = node(blocks);
  const search = rpc.call;
  // Each call finds a hundred logs of later blocks that were not there at the call before.
  rpc.call = async (/** @type {string} */ method, /** @type {any[]} */ params) => {
    blocks.push(...Array.from({ length: 100 }, () => 10));
    return search(method, params);
  };
  const pager = new NewestFirst(rpc, {}, { limit: 25, to: 8, open: 9 });
  const found = (await all(pager)).flatMap(numbers);
  assert.equal(found.filter((block) => block === 9).length, 500);
  assert.equal(found.at(-1), 3);
});

test('merged pages of blocks with many logs have each log once', async () => {
  const sources = [0, 1].map(() => new NewestFirst(nodeWithGiantBlocks().rpc, {}, { limit: 25, to: 30 }));
  const { read } = reader(new MergedPages(sources), 25);
  assert.deepEqual((await read()).logs.slice(0, 3), [25, 21, 21]);
  const logs = (await all(new MergedPages([0, 1].map(() => new NewestFirst(node([1, 2, ...Array(300).fill(3)]).rpc, {}, { limit: 25, to: 9 }))))).flat();
  assert.equal(logs.length, 302);
});

test('a search that finds nothing pauses after a bounded number of reads', async () => {
  let calls = 0;
  const rpc = /** @type {any} */ ({
    call: async () => {
      calls += 1;
      return { logs: [], cursor: 'next' };
    },
  });
  const pager = new NewestFirst(rpc, {}, { limit: 25, to: 100_000 });
  const { pages, read } = reader(pager, 25);
  assert.deepEqual(await read(), { logs: [], isFull: false });
  assert.equal(calls, 16);
  assert.equal(pages.done, false);
  assert.equal(pages.reached, 99_995);
});

test('an aborted page is completed by the next read', async () => {
  const { rpc } = node([1, 2, 3, 4, 5]);
  const search = rpc.call;
  let stop = new AbortController();
  rpc.call = async (/** @type {string} */ method, /** @type {any[]} */ params, /** @type {any} */ options) => {
    const found = await search(method, params);
    if (params[0].cursor) stop.abort();
    options?.signal?.throwIfAborted();
    return found;
  };
  const { read } = reader(new OldestFirst(rpc, { fromBlock: '0x0', toBlock: '0x9' }, 2), 4);
  await assert.rejects(read(stop.signal));
  stop = new AbortController();
  rpc.call = search;
  assert.deepEqual((await read()).logs, [3, 4]);
});
