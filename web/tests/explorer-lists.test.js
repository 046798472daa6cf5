import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ChainModel } from '../explorer/chain.js';
import { matchPart, parsePart } from '../explorer/known-values.js';
import { findResults } from '../explorer/search.js';
import { TokenQueue } from '../explorer/token-queue.js';
import { transferFilters } from '../explorer/tokens.js';
import { TRANSFER_TOPICS, firstTransfer } from '../explorer/transfer-topics.js';

const SENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const TOKEN = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const HASH = `0x4105ea${'0'.repeat(54)}5ffc`;
const BLOCK_HASH = `0x${'cd'.repeat(32)}`;

/** @param {number} index @param {string} [topic] @param {string} [data] */
const log = (index, topic = TRANSFER_TOPICS[0], data = '0x') =>
  ({ address: TOKEN, topics: [topic ?? ''], data, logIndex: `0x${index.toString(16)}` });

/** A chain whose block 5 has one transaction at its first step. @param {any[]} logs */
function chainWith(logs) {
  const chain = new ChainModel();
  const header = { number: '0x5', hash: BLOCK_HASH, gasUsed: '0x5208' };
  const transaction = { hash: HASH, from: SENDER, to: TOKEN, value: '0x0', input: '0x' };
  const receipt = { gasUsed: '0x5208', status: '0x1', logs };
  chain.apply(/** @type {any} */ ({
    number: '0x5', index: '0x0', hash: BLOCK_HASH, parent: '', time: '0x1', signature: null, header,
    transactions: [transaction], receipts: [receipt], removed: false,
  }));
  return chain;
}

test('the topics are those of the interfaces of tokens', () => {
  const filters = transferFilters(TOKEN).flatMap(({ topics }) => topics[0] ?? []);
  assert.deepEqual([...new Set(filters)].sort(), [...TRANSFER_TOPICS].sort());
});

test('the first transfer of a receipt is found without decoding', () => {
  const other = `0x${'11'.repeat(32)}`;
  assert.equal(firstTransfer([]), null);
  assert.equal(firstTransfer([log(0, other), { ...log(1), topics: [] }]), null);
  assert.deepEqual(firstTransfer([log(0, other), log(1)]), { log: log(1), hasMore: false });
  assert.deepEqual(firstTransfer([log(0, undefined, `0x${'00'.repeat(2000)}`), log(1), log(2)]), { log: log(1), hasMore: true });
  assert.equal(firstTransfer(Array.from({ length: 501 }, (_, index) => log(index, index === 500 ? undefined : other))), null);
});

test('a step has the first transfer of each transaction', () => {
  assert.deepEqual(chainWith([log(0)]).pending?.steps[0]?.transactions[0]?.transfer, { log: log(0), hasMore: false });
  assert.equal(chainWith([]).pending?.steps[0]?.transactions[0]?.transfer, null);
});

test('a block that was read has the transfers of the receipts that were read with it', () => {
  const chain = new ChainModel();
  const transactions = ['a', 'b'].map((hash) => ({ hash, from: SENDER, to: TOKEN, value: '0x0', input: '0x' }));
  const receipts = new Map([['b', { gasUsed: '0x5208', status: '0x1', logs: [log(0)] }]]);
  chain.addPending([{ number: '0x5', hash: BLOCK_HASH, gasUsed: '0x0', transactions }], 0, receipts);
  assert.deepEqual(chain.pending?.steps[0]?.transactions.map(({ transfer, isSuccess }) => [transfer?.log.address, isSuccess]), [[undefined, null], [TOKEN, true]]);
});

test('parts of hashes and addresses are recognized', () => {
  assert.deepEqual(parsePart('0x4105ea…5ffc'), { begin: '0x4105ea', end: '5ffc' });
  assert.deepEqual(parsePart('0x4105EA...5FFC'), { begin: '0x4105ea', end: '5ffc' });
  assert.deepEqual(parsePart('0x709979'), { begin: '0x709979', end: '' });
  for (const text of ['', '0x', '0x12…', 'hello', '4105ea…5ffc', '0xzz…5ffc']) assert.equal(parsePart(text), null, text);
});

test('parts match hashes and addresses of the newest blocks', () => {
  const { blocks } = chainWith([]);
  /** @param {string} text */
  const paths = (text) => matchPart(blocks, /** @type {any} */ (parsePart(text))).map(({ path }) => path);
  assert.deepEqual(paths('0x4105ea…5ffc'), [`/tx/${HASH}`]);
  assert.deepEqual(paths('0x709979'), [`/address/${SENDER}`]);
  assert.deepEqual(paths('0xcdcd…cdcd'), [`/block/${BLOCK_HASH}`]);
  assert.deepEqual(paths('0x4105ea…5ffd'), []);
});

test('a hex number is a block if the chain is that long, and else a part', async () => {
  const rpc = /** @type {any} */ ({ call: async (/** @type {string} */ method) => (method === 'eth_blockNumber' ? '0x1e' : null) });
  const { blocks } = chainWith([]);
  /** @param {string} text */
  const paths = async (text) => (await findResults(rpc, text, blocks)).map(({ path }) => path);
  assert.deepEqual(await paths('0x1f'), ['/block/31']);
  assert.deepEqual(await paths('0x20'), []);
  assert.deepEqual(await paths('0x709979'), [`/address/${SENDER}`]);
  assert.deepEqual(await paths('0x70997a'), []);
});

test('tokens of lists are read at a rate, and not for rows that are gone', async () => {
  let now = 0;
  const queue = new TokenQueue({ now: () => now, sleep: async (ms) => { now += ms; } });
  const controllers = Array.from({ length: 40 }, () => new AbortController());
  /** @type {[string, number][]} */
  const read = [];
  const load = async (/** @type {string} */ address) => {
    read.push([address, now]);
    return { symbol: address, name: null, decimals: null };
  };
  controllers.forEach((each, index) => index >= 10 && index < 30 && each.abort());
  const found = controllers.map((each, index) => queue.read(load, String(index), each.signal));
  const kept = await Promise.all(found.filter((_, index) => index < 10 || index >= 30));
  assert.equal(kept.length, 20);
  assert.equal(read.length, 20);
  assert.equal(read.filter(([, at]) => at === 0).length, 10);
  assert.equal(now, 5000);
});
