// Reads of the block page.

import { isHash, parseCount, toQuantity } from '../../lib/values.js';

/** @typedef {import('../../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {Record<string, any>} Block */
/**
 * Block with its steps. `steps` is empty for genesis, for imported blocks, and for blocks whose steps the node no longer
 * has in memory.
 * @typedef {{block: Block, number: number, steps: Block[], isPending: boolean, finality: 'pending' | 'sealed' | 'safe' | 'finalized'}} BlockWithSteps
 */

const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'];
/** A block of 2 s has up to 11 steps, so that the twelfth read ends the list. */
const STEP_BATCH = 12;
const MAX_STEPS = 512;

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
 * @param {RpcClient} rpc
 * @param {string} id number, tag, or hash of a block or a step
 * @param {AbortSignal} signal
 * @returns {Promise<BlockWithSteps>}
 */
export async function loadBlock(rpc, id, signal) {
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
  const steps = await loadSteps(rpc, number, signal);
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
 * @returns {Promise<Block[]>}
 */
export async function loadSteps(rpc, number, signal) {
  /** @type {Block[]} */
  const steps = [];
  while (steps.length < MAX_STEPS) {
    const first = steps.length;
    const reads = Array.from({ length: STEP_BATCH }, (_, offset) => {
      const at = { blockNumber: toQuantity(number), flashblockIndex: toQuantity(first + offset) };
      return rpc.call('eth_getBlockByNumber', [at, false], { signal }).catch((error) => {
        if (signal.aborted) throw error;
        return null;
      });
    });
    const found = await Promise.all(reads);
    const end = found.indexOf(null);
    steps.push(...(end < 0 ? found : found.slice(0, end)));
    if (end >= 0) break;
  }
  return steps;
}

/**
 * Returns transactions and, if the node has them, receipts.
 * @param {RpcClient} rpc
 * @param {readonly string[]} hashes
 * @param {AbortSignal} signal
 * @returns {Promise<{transaction: Record<string, any>, receipt: Record<string, any> | null}[]>}
 */
export async function loadTransactions(rpc, hashes, signal) {
  const rows = await Promise.all(hashes.map(async (hash) => {
    const [transaction, receipt] = await Promise.all([
      rpc.call('eth_getTransactionByHash', [hash], { signal }),
      rpc.call('eth_getTransactionReceipt', [hash], { signal }),
    ]);
    return { transaction, receipt };
  }));
  return rows.filter((row) => row.transaction !== null);
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
