// Reads of the block page.

import { RpcError } from '../../lib/rpc.js';
import { isHash, parseCount, toQuantity } from '../../lib/values.js';
import { readReceipts } from '../receipts.js';
import { firstTransfer } from '../transfer-topics.js';

/** @typedef {import('../../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {import('../transfer-topics.js').FirstTransfer} FirstTransfer */
/** @typedef {Record<string, any>} Block */
/**
 * Block with its steps. `steps` is empty for genesis, for imported blocks, and for blocks whose steps the node no
 * longer has in memory.
 * @typedef {{block: Block, number: number, steps: Block[], isPending: boolean,
 *   finality: 'pending' | 'sealed' | 'safe' | 'finalized'}} BlockWithSteps
 */

const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'];
/** A block of 2 s has up to 11 steps, so that the twelfth read ends the list. */
const STEP_BATCH = 12;
/** Within a second, five steps follow those that were read before. */
const NEXT_BATCH = 6;
const MAX_STEPS = 512;
const NOT_FOUND = -32001;

/** Error for a block that does not exist. */
export class BlockNotFound extends Error {
  /** @override */
  name = 'BlockNotFound';
}

/**
 * Returns the block parameter of the text in the address, or null if it is none.
 * @param {string} id
 */
function parameterOf(id) {
  if (TAGS.includes(id)) return id;
  if (/^\d{1,15}$/.test(id)) return toQuantity(Number(id));
  return null;
}

/**
 * Reads a block. Of a block that was read before, it reads only what may have changed.
 * @param {RpcClient} rpc
 * @param {string} id number, tag, or hash of a block or a step
 * @param {AbortSignal} signal
 * @param {BlockWithSteps | null} [previous] result of the last read of the same id
 * @returns {Promise<BlockWithSteps>}
 */
export async function loadBlock(rpc, id, signal, previous = null) {
  const parameter = parameterOf(id);
  const options = { signal };
  if (parameter === null && !isHash(id)) throw new BlockNotFound(`${id.slice(0, 80)} is not the number or the hash of a block.`);
  const reading = parameter === null
    ? rpc.call('eth_getBlockByHash', [id, false], options)
    : rpc.call('eth_getBlockByNumber', [parameter, false], options);
  const [found, status] = await Promise.all([reading, rpc.call('foreseal_status', [], options)]);
  const block = found ?? (await pendingBlock(rpc, parameter, options));
  if (block === null) throw new BlockNotFound('The chain has no such block.');
  const number = parseCount(block.number);
  const known = previous?.number === number ? previous.steps : [];
  const isUnchanged = previous?.number === number && !previous.isPending && previous.block['hash'] === block.hash;
  const steps = isUnchanged ? known : await loadSteps(rpc, number, signal, known);
  const isPending = status.latest === null || number > parseCount(status.latest);
  return { block, number, steps, isPending, finality: isPending ? 'pending' : finalityOf(number, status) };
}

/**
 * Returns the block under construction if it has this number: numbers name sealed blocks only.
 * @param {RpcClient} rpc @param {string | null} parameter @param {{signal: AbortSignal}} options
 */
async function pendingBlock(rpc, parameter, options) {
  if (parameter === null) return null;
  const pending = await rpc.call('eth_getBlockByNumber', ['pending', false], options);
  return pending?.number === parameter ? pending : null;
}

/** @param {number} number @param {Record<string, any>} status */
function finalityOf(number, status) {
  if (status['finalized'] !== null && number <= parseCount(status['finalized'])) return 'finalized';
  return status['safe'] !== null && number <= parseCount(status['safe']) ? 'safe' : 'sealed';
}

/**
 * Returns the block at each of its steps. No method lists the steps, so it reads them until one does not exist.
 * @param {RpcClient} rpc
 * @param {number} number
 * @param {AbortSignal} signal
 * @param {readonly Block[]} [known] steps that were read before; they count if the last of them still exists
 * @returns {Promise<Block[]>}
 */
export async function loadSteps(rpc, number, signal, known = []) {
  const last = known[known.length - 1];
  /** @type {Block[]} */
  const steps = known.slice(0, -1);
  while (steps.length < MAX_STEPS) {
    const first = steps.length;
    const size = first > 0 && first < known.length ? NEXT_BATCH : STEP_BATCH;
    const reads = Array.from({ length: size }, (_, offset) => readStep(rpc, number, first + offset, signal));
    const found = await Promise.all(reads);
    if (last !== undefined && first === known.length - 1 && found[0]?.['hash'] !== last['hash']) {
      return loadSteps(rpc, number, signal);
    }
    const end = found.indexOf(null);
    steps.push(.../** @type {Block[]} */ (end < 0 ? found : found.slice(0, end)));
    if (end >= 0) break;
  }
  return steps;
}

/**
 * Returns the block at a step, or null if the node has no such step.
 * @param {RpcClient} rpc @param {number} number @param {number} index @param {AbortSignal} signal
 * @returns {Promise<Block | null>}
 */
async function readStep(rpc, number, index, signal) {
  const at = { blockNumber: toQuantity(number), flashblockIndex: toQuantity(index) };
  try {
    return await rpc.call('eth_getBlockByNumber', [at, false], { signal });
  } catch (error) {
    if (error instanceof RpcError && error.code === NOT_FOUND) return null;
    throw error;
  }
}

/**
 * Returns transactions and, if the node has them and they are not large, receipts.
 * @param {RpcClient} rpc
 * @param {readonly string[]} hashes
 * @param {number} blockGas gas that all transactions of the block have used
 * @param {AbortSignal} signal
 * @returns {Promise<{transaction: Record<string, any>, receipt: Record<string, any> | null,
 *   transfer: FirstTransfer | null}[]>}
 */
export async function loadTransactions(rpc, hashes, blockGas, signal) {
  const found = await Promise.all(hashes.map((hash) => rpc.call('eth_getTransactionByHash', [hash], { signal })));
  const transactions = found.filter((transaction) => transaction !== null);
  const receipts = await readReceipts(rpc, transactions, blockGas, signal);
  return transactions.map((transaction) => {
    const receipt = receipts.get(transaction.hash) ?? null;
    return { transaction, receipt, transfer: receipt && firstTransfer(receipt['logs']) };
  });
}

/**
 * Returns the accounts before and after the transactions, by the tracer of geth.
 * @param {RpcClient} rpc
 * @param {string} stepHash
 * @param {readonly string[]} hashes transactions of the step
 * @param {AbortSignal} signal
 */
export async function loadStateChanges(rpc, stepHash, hashes, signal) {
  const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
  const traces = await rpc.call('debug_traceBlockByHash', [stepHash, config], { signal, alone: true, timeout: 60_000 });
  const wanted = new Set(hashes);
  return traces
    .filter((/** @type {any} */ trace) => wanted.has(trace.txHash))
    .map((/** @type {any} */ trace) => ({ hash: trace.txHash, diff: trace.result }));
}
