import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ChainModel } from '../explorer/chain.js';
import { readNewestBlock } from '../explorer/newest-block.js';
import { readReceipts } from '../explorer/receipts.js';
import { isComplete, loadTransaction } from '../explorer/transaction/load.js';
import { RpcError } from '../lib/rpc.js';

const HASH = `0x${'ab'.repeat(32)}`;

/** @param {number} value */
const hex = (value) => `0x${value.toString(16)}`;

/** Node that answers from functions by method. @param {Record<string, (...params: any[]) => any>} methods */
function node(methods) {
  /** @type {[string, any[]][]} */
  const calls = [];
  const rpc = /** @type {any} */ ({
    call: async (/** @type {string} */ method, /** @type {any[]} */ params = []) => {
      calls.push([method, params]);
      const answer = methods[method];
      assert.ok(answer, method);
      return answer(...params);
    },
  });
  /** @param {string} method */
  const count = (method) => calls.filter(([name]) => name === method).length;
  return { rpc, calls, count };
}

/** @param {string} hash @param {number} [logs] @param {number} [size] */
const receipt = (hash, logs = 0, size = 0) => ({
  transactionHash: hash, gasUsed: '0x5208', status: '0x1',
  logs: Array.from({ length: logs }, () => ({ data: `0x${'00'.repeat(size)}`, topics: [] })),
});

test('receipts of transactions with much gas are not read', async () => {
  const { rpc, count } = node({ eth_getTransactionReceipt: (hash) => receipt(hash) });
  const transactions = [21_000, 16_777_216, 100_000].map((gas, index) => ({ hash: String(index), gas: hex(gas) }));
  assert.deepEqual([...(await readReceipts(rpc, transactions, 400_000_000)).keys()], ['0', '2']);
  assert.equal(count('eth_getTransactionReceipt'), 2);
});

test('gas that the block did not use does not prevent a read', async () => {
  const { rpc } = node({ eth_getTransactionReceipt: (hash) => receipt(hash) });
  assert.equal((await readReceipts(rpc, [{ hash: 'a', gas: hex(30_000_000) }], 50_000)).size, 1);
});

test('reads of receipts end once they were large', async () => {
  const { rpc, count } = node({ eth_getTransactionReceipt: (hash) => receipt(hash, 100, 25_000) });
  const transactions = Array.from({ length: 20 }, (_, index) => ({ hash: String(index), gas: hex(3_000_000) }));
  assert.equal((await readReceipts(rpc, transactions, 400_000_000)).size, 2);
  assert.equal(count('eth_getTransactionReceipt'), 2);
});

test('a receipt above the limit of the node is missing', async () => {
  const { rpc } = node({
    eth_getTransactionReceipt: (hash) => {
      if (hash === 'a') throw new RpcError({ code: -32005, message: 'too large' });
      return receipt(hash);
    },
  });
  const transactions = ['a', 'b'].map((hash) => ({ hash, gas: '0x5208' }));
  assert.deepEqual([...(await readReceipts(rpc, transactions, 1_000_000)).keys()], ['b']);
});

test('a large block is read with hashes only', async () => {
  for (const [size, isFull] of [[10_000, true], [5_000_000, false]]) {
    const { rpc, calls } = node({
      eth_getBlockByNumber: ({ blockNumber, flashblockIndex }, full) => ({
        number: blockNumber, hash: `h${flashblockIndex}`, size: hex(Number(size)), gasUsed: hex(16_777_216),
        transactions: flashblockIndex === '0x0' ? [] : [full ? { hash: HASH, gas: hex(16_777_216), from: HASH, value: '0x0', input: '0x' } : HASH],
      }),
      eth_getTransactionReceipt: () => assert.fail('the receipt is large'),
    });
    const found = await readNewestBlock(rpc, { block: '0x5', index: '0x1', hash: 'h0x1' });
    assert.ok(found);
    assert.equal(calls.some(([, [, full]]) => full), isFull);
    const chain = new ChainModel();
    chain.addPending(found.steps, found.first, found.receipts);
    assert.deepEqual(chain.pending?.steps.map((step) => [step.transactionCount, step.transactions.length]), [[0, 0], [1, isFull ? 1 : 0]]);
  }
});

test('a newer block under construction seals those before it', () => {
  const chain = new ChainModel();
  for (const number of [5, 7]) chain.addPending([{ number: hex(number), hash: `h${number}`, gasUsed: '0x0', transactions: [] }]);
  assert.deepEqual([chain.pending?.number, chain.sealed.map((block) => block.number)], [7, [5]]);
});

/** @param {{gas: number, receipt: () => any}} transaction */
function pageNode({ gas, receipt: read }) {
  let status = 'preconfirmed';
  const found = node({
    foreseal_transactionStatus: () => ({ status, blockNumber: '0x5', flashblockIndex: '0x1' }),
    foreseal_status: () => ({}),
    eth_getTransactionByHash: () => ({ hash: HASH, gas: hex(gas), blockNumber: '0x5' }),
    eth_getTransactionReceipt: read,
  });
  return { ...found, seal: () => { status = 'sealed'; } };
}

test('a transaction with much gas appears before its receipt, which is read once', async () => {
  const { rpc, count, seal } = pageNode({ gas: 16_777_216, receipt: () => receipt(HASH, 3) });
  const { signal } = new AbortController();
  let data = await loadTransaction(rpc, HASH, null, signal);
  assert.deepEqual([data.receipt, isComplete(data), count('eth_getTransactionReceipt')], [null, false, 0]);
  data = await loadTransaction(rpc, HASH, data, signal);
  assert.deepEqual([data.receipt?.['logs'].length, isComplete(data)], [3, true]);
  seal();
  for (let round = 0; round < 3; round += 1) data = await loadTransaction(rpc, HASH, data, signal);
  assert.deepEqual([data.status.status, data.receipt?.['logs'].length, count('eth_getTransactionReceipt')], ['sealed', 3, 1]);
});

test('a receipt that the node does not send leaves the transaction complete', async () => {
  const { rpc, count } = pageNode({
    gas: 16_777_216,
    receipt: () => {
      throw new RpcError({ code: -32005, message: 'the receipt exceeds the limit' });
    },
  });
  const { signal } = new AbortController();
  let data = await loadTransaction(rpc, HASH, null, signal);
  for (let round = 0; round < 3; round += 1) data = await loadTransaction(rpc, HASH, data, signal);
  assert.deepEqual([isComplete(data), data.receiptError?.message, count('eth_getTransactionReceipt')], [true, 'the receipt exceeds the limit', 1]);
});

test('a small receipt is read with the transaction and again after the seal', async () => {
  const { rpc, count, seal } = pageNode({ gas: 21_000, receipt: () => receipt(HASH) });
  const { signal } = new AbortController();
  const data = await loadTransaction(rpc, HASH, null, signal);
  assert.equal(isComplete(data), true);
  seal();
  await loadTransaction(rpc, HASH, data, signal);
  assert.equal(count('eth_getTransactionReceipt'), 2);
});
