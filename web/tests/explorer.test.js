import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseAbi } from '../lib/abi/fragments.js';
import { Interface } from '../lib/abi/interface.js';
import { matchRoute } from '../lib/router.js';
import { STANDARD_ABIS, guessInterface } from '../explorer/abis.js';
import { ChainModel } from '../explorer/chain.js';
import { CONTRACT_ABIS } from '../explorer/contract-abis.js';
import { FieldError, parseSearch } from '../explorer/log-search.js';
import { ReplacementTracker } from '../explorer/replacements.js';
import { directResult, findResults } from '../explorer/search.js';
import { listChanges } from '../explorer/state-diff.js';
import { findTransfers, transferFilters, transfersOf } from '../explorer/tokens.js';

const ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const HASH = `0x${'ab'.repeat(32)}`;

/** @param {number} value */
const hex = (value) => `0x${value.toString(16)}`;

/**
 * @param {number} number
 * @param {number} index
 * @param {number} count transactions of the step
 * @param {number} gas gas used by the block so far
 */
function message(number, index, count, gas, removed = false) {
  const transactions = Array.from({ length: count }, (_, position) => ({
    hash: `t${number}.${index}.${position}`, from: ADDRESS, to: ADDRESS, value: '0x0', input: '0x',
  }));
  const receipts = transactions.map(() => ({ gasUsed: '0x5208', status: '0x1', logs: [] }));
  const hash = `h${number}.${index}`;
  return /** @type {any} */ ({
    number: hex(number), index: hex(index), hash, parent: '', time: '0x1', signature: null,
    header: { number: hex(number), hash, gasUsed: hex(gas) }, transactions, receipts, removed,
  });
}

test('steps extend the pending block and a new number seals it', () => {
  const chain = new ChainModel();
  for (const one of [message(5, 0, 0, 0), message(5, 1, 2, 42000), message(5, 2, 1, 63000)]) chain.apply(one);
  assert.equal(chain.pending?.transactionCount, 3);
  assert.deepEqual(chain.pending?.steps.map((step) => step.gasUsed), [0, 42000, 21000]);
  assert.deepEqual(chain.head, { number: 5, index: 2, hash: 'h5.2' });
  chain.apply(message(6, 0, 0, 0));
  assert.deepEqual([chain.pending?.number, chain.sealed.map((block) => block.number)], [6, [5]]);
});

test('a repeated step is not counted twice', () => {
  const chain = new ChainModel();
  chain.apply(message(5, 1, 2, 42000));
  chain.apply(message(5, 1, 2, 42000));
  assert.equal(chain.pending?.transactionCount, 2);
});

test('a withdrawn step stays visible and does not count', () => {
  const chain = new ChainModel();
  for (const one of [message(5, 0, 0, 0), message(5, 1, 2, 42000)]) chain.apply(one);
  chain.apply(message(5, 1, 2, 42000, true));
  assert.equal(chain.pending?.transactionCount, 0);
  assert.deepEqual(chain.pending?.steps.map((step) => step.isWithdrawn), [false, true]);
  const replacement = { ...message(5, 1, 1, 21000), hash: 'other' };
  chain.apply(replacement);
  assert.deepEqual(chain.pending?.steps.map((step) => [step.hash, step.isWithdrawn]), [['h5.0', false], ['h5.1', true], ['other', false]]);
  assert.equal(chain.pending?.steps.at(-1)?.gasUsed, 21000);
});

test('a reorg across blocks reopens the earlier block', () => {
  const chain = new ChainModel();
  for (const one of [message(5, 0, 1, 21000), message(6, 0, 0, 0)]) chain.apply(one);
  chain.apply(message(6, 0, 0, 0, true));
  chain.apply(message(5, 0, 1, 21000, true));
  chain.apply({ ...message(5, 0, 0, 0), hash: 'other' });
  assert.equal(chain.head?.hash, 'other');
  assert.equal(chain.pending?.number, 5);
});

test('a block that was read with its steps continues with the feed', () => {
  const chain = new ChainModel();
  const [transaction] = message(5, 1, 1, 0).transactions;
  const block = (/** @type {string} */ hash, /** @type {unknown[]} */ transactions, /** @type {number} */ gas) =>
    ({ number: '0x5', hash, gasUsed: hex(gas), transactions });
  chain.addSealed({ number: '0x4', hash: 'h4', gasUsed: '0x0', transactions: [] });
  chain.addPending([block('h5.0', [], 0), block('h5.1', [transaction], 21000)]);
  chain.apply(message(5, 2, 1, 42000));
  assert.deepEqual(chain.pending?.steps.map((step) => [step.index, step.transactionCount, step.gasUsed]), [[0, 0, 0], [1, 1, 21000], [2, 1, 21000]]);
  assert.deepEqual(chain.sealed.map((one) => one.number), [4]);
});

test('the model forgets old blocks and old transactions', () => {
  const chain = new ChainModel();
  for (let number = 1; number <= 200; number += 1) chain.apply(message(number, 0, 1, 21000));
  assert.ok(chain.blocks.length <= 64);
  assert.equal(chain.blocks.filter((block) => block.steps.some((step) => step.transactions.length > 0)).length, 3);
});

test('the search box recognizes blocks, steps and addresses', () => {
  assert.equal(directResult('12')?.path, '/block/12');
  assert.equal(directResult('#1,234')?.path, '/block/1234');
  assert.equal(directResult('12.3')?.path, '/block/12/step/3');
  assert.equal(directResult('12 / 3')?.path, '/block/12/step/3');
  assert.equal(directResult('pending')?.path, '/block/pending');
  assert.equal(directResult(ADDRESS)?.path, `/address/${ADDRESS}`);
  for (const text of ['', HASH, '0x1f', '0x709979', '<script>', '0x', 'hello', '../status']) assert.equal(directResult(text), null, text);
});

test('a hash is looked up as a transaction and as a block', async () => {
  const answers = { eth_getBlockByHash: { number: '0x5' }, eth_getTransactionByHash: null, foreseal_transactionStatus: { status: 'dropped' } };
  const rpc = /** @type {any} */ ({ call: async (/** @type {keyof typeof answers} */ method) => answers[method] });
  assert.deepEqual((await findResults(rpc, HASH.slice(2), [])).map((one) => one.path), [`/tx/${HASH}`, `/block/${HASH}`]);
  assert.deepEqual(await findResults(rpc, 'hello', []), []);
});

test('routes match whole paths with their parameters', () => {
  const routes = [{ name: 'step', pattern: '/block/:id/step/:index' }, { name: 'block', pattern: '/block/:id' }, { name: 'home', pattern: '/' }];
  assert.deepEqual(matchRoute(routes, '/block/5/step/2'), { name: 'step', params: { id: '5', index: '2' } });
  assert.deepEqual(matchRoute(routes, '/block/a%2Fb'), { name: 'block', params: { id: 'a/b' } });
  assert.deepEqual(matchRoute(routes, '/'), { name: 'home', params: {} });
  assert.equal(matchRoute(routes, '/block/5/step'), null);
  assert.equal(matchRoute(routes, '/block/%E0'), null);
});

test('state differences name changed, deleted and zeroed values', () => {
  const slot = (/** @type {number} */ digit) => `0x${String(digit).padStart(64, '0')}`;
  const diff = {
    pre: {
      a: { balance: '0x5', nonce: 1, storage: { [slot(0)]: slot(7) } },
      gone: { balance: '0x1', code: '0x00' },
    },
    post: { a: { balance: '0x4' }, created: { balance: '0x9', nonce: 1 } },
  };
  const rows = listChanges(diff).map(({ address, field, before, after }) => [address, field, before, after]);
  assert.deepEqual(rows, [
    ['a', 'balance', '0x5', '0x4'],
    ['a', slot(0), slot(7), slot(0)],
    ['gone', 'balance', '0x1', null],
    ['gone', 'code', '0x00', null],
    ['created', 'balance', null, '0x9'],
    ['created', 'nonce', null, '1'],
  ]);
});

test('transfers of the three standards are recognized', () => {
  const [, , multi] = transferFilters(ADDRESS);
  const word = (/** @type {number} */ value) => value.toString(16).padStart(64, '0');
  const [from, to] = [1, 2].map((value) => `0x${word(value)}`);
  const topic = /** @type {string} */ (transferFilters(ADDRESS)[0]?.topics[0]);
  const pick = (/** @type {any[]} */ found) => found.map(({ standard, amount, id }) => [standard, amount, id]);
  assert.deepEqual(pick(transfersOf({ topics: [topic, /** @type {string} */ (from), /** @type {string} */ (to)], data: `0x${word(5)}` })), [['ERC-20', 5n, null]]);
  assert.deepEqual(pick(transfersOf({ topics: [topic, /** @type {string} */ (from), /** @type {string} */ (to), `0x${word(9)}`], data: '0x' })), [['ERC-721', null, 9n]]);
  const [single, batch] = /** @type {string[]} */ (multi?.topics[0]);
  const head = [/** @type {string} */ (from), /** @type {string} */ (from), /** @type {string} */ (to)];
  assert.deepEqual(pick(transfersOf({ topics: [/** @type {string} */ (single), ...head], data: `0x${word(3)}${word(4)}` })), [['ERC-1155', 4n, 3n]]);
  const lists = [64, 160, 2, 1, 2, 2, 10, 20].map(word).join('');
  assert.deepEqual(pick(transfersOf({ topics: [/** @type {string} */ (batch), ...head], data: `0x${lists}` })), [['ERC-1155', 10n, 1n], ['ERC-1155', 20n, 2n]]);
  assert.deepEqual(transfersOf({ topics: [topic], data: '0x' }), []);
});

test('the transfers of a receipt are bounded', () => {
  const topics = [/** @type {string} */ (transferFilters(ADDRESS)[0]?.topics[0]), `0x${'0'.repeat(64)}`, `0x${'0'.repeat(64)}`];
  /** @param {number} index @param {string} data */
  const log = (index, data) => ({ address: ADDRESS, topics, data, logIndex: hex(index) });
  const word = `0x${'0'.repeat(63)}5`;
  const few = findTransfers([log(0, word), log(1, word)]);
  assert.deepEqual(few.transfers.map(({ key, token, transfer }) => [key, token, transfer.amount]), [['0x0-0', ADDRESS, 5n], ['0x1-0', ADDRESS, 5n]]);
  assert.equal(few.hasMore, false);
  const many = findTransfers(Array.from({ length: 11 }, (_, index) => log(index, word)));
  assert.deepEqual([many.transfers.length, many.hasMore], [10, true]);
  assert.deepEqual(findTransfers([log(0, `0x${'00'.repeat(20_000)}`)]), { transfers: [], hasMore: true });
  assert.deepEqual(findTransfers([]), { transfers: [], hasMore: false });
});

test('replacements have both hashes and fees', () => {
  const tracker = new ReplacementTracker();
  const transaction = (/** @type {string} */ hash, /** @type {string} */ fee) => ({ hash, from: ADDRESS, nonce: '0x1', maxFeePerGas: fee });
  assert.equal(tracker.add(transaction('a', '0x5'), 1), false);
  assert.equal(tracker.add(transaction('a', '0x5'), 2), false);
  assert.equal(tracker.add(transaction('b', '0x6'), 3), true);
  assert.deepEqual(tracker.list.map(({ before, after, feeBefore, feeAfter }) => [before, after, feeBefore, feeAfter]), [['a', 'b', 5n, 6n]]);
});

test('the log search accepts events, topics and ranges, and names wrong fields', () => {
  const text = { address: '', topic0: '', topic1: '', topic2: '', topic3: '', from: '', to: '', order: '' };
  const found = parseSearch({ ...text, address: `${ADDRESS}, ${ADDRESS}`, topic0: 'Transfer(address,address,uint256)', topic2: ADDRESS, from: '1', to: '5' });
  assert.equal(found.topics[0], '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef');
  assert.equal(found.topics[1], null);
  assert.equal(found.topics[2], `0x${ADDRESS.slice(2).toLowerCase().padStart(64, '0')}`);
  assert.equal(found.topics.length, 3);
  assert.equal(found.address?.length, 2);
  assert.deepEqual(parseSearch(text), { topics: [], from: null, to: null, isNewestFirst: true });
  for (const [name, value] of [['address', '0x1'], ['topic0', '???'], ['topic1', 'abc'], ['from', '-1'], ['to', '1e5']]) {
    assert.throws(() => parseSearch({ ...text, [/** @type {string} */ (name)]: value }), (error) => error instanceof FieldError && error.field === name, name);
  }
  assert.throws(() => parseSearch({ ...text, from: '5', to: '1' }), /before/);
});

test('all built-in interfaces parse', () => {
  const all = Object.entries({ ...STANDARD_ABIS, ...CONTRACT_ABIS });
  assert.ok(all.length >= 15);
  for (const [name, text] of all) assert.ok(parseAbi(text).length > 0, name);
});

test('the interface of a contract is found by its code', async () => {
  const token = Interface.parse(STANDARD_ABIS['ERC-20']);
  const code = `0x${token.selectors.map((selector) => `63${selector.slice(2).replace(/^(00)+/, '')}14`).join('')}`;
  assert.equal((await guessInterface(code))?.name, 'ERC-20');
  assert.equal(await guessInterface('0x6000'), null);
});
