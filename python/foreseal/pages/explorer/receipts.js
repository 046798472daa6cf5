// Receipts for lists, within a bound of bytes: one receipt of a block can have 16 MB of JSON.

import { RpcError } from '../lib/rpc.js';
import { parseCount } from '../lib/values.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {Record<string, any>} Json */

/**
 * Maximum gas of the transactions whose receipts are read at once. Gas bounds the size of a receipt: the shortest log
 * costs 375 gas and has about 400 characters.
 */
export const MAX_GAS = 4_000_000;
/** Characters of receipts after which a list reads no more. */
const MAX_SIZE = 8_000_000;
const MAX_LOG_SIZE = 800;
const LIMIT_EXCEEDED = -32005;

/** @param {Json} receipt */
const sizeOf = (receipt) =>
  receipt['logs'].reduce((/** @type {number} */ sum, /** @type {Json} */ log) => sum + MAX_LOG_SIZE + log['data'].length, 1000);

/** Returns true if the node rejected an answer for its size, not for the rate of calls. @param {unknown} error */
export const isTooLarge = (error) => error instanceof RpcError && error.code === LIMIT_EXCEEDED && error.retryAfterMs === null;

/**
 * Reads receipts by hash. Transactions that may have a large one have none in the result.
 * @param {RpcClient} rpc
 * @param {readonly Json[]} transactions
 * @param {number} blockGas gas that all transactions of the block have used
 * @param {AbortSignal} [signal]
 * @returns {Promise<Map<string, Json>>}
 */
export async function readReceipts(rpc, transactions, blockGas, signal) {
  const waiting = transactions
    .map((one) => ({ hash: /** @type {string} */ (one['hash']), gas: Math.min(parseCount(one['gas']), blockGas) }))
    .filter(({ gas }) => gas <= MAX_GAS);
  /** @type {Map<string, Json>} */
  const receipts = new Map();
  for (let size = 0; waiting.length > 0 && size < MAX_SIZE;) {
    /** @type {string[]} */
    const hashes = [];
    for (let gas = 0; waiting[0] !== undefined && gas + waiting[0].gas <= MAX_GAS;) {
      gas += waiting[0].gas;
      hashes.push(waiting[0].hash);
      waiting.shift();
    }
    for (const receipt of await Promise.all(hashes.map((hash) => readReceipt(rpc, hash, signal)))) {
      if (receipt === null) continue;
      receipts.set(receipt['transactionHash'], receipt);
      size += sizeOf(receipt);
    }
  }
  return receipts;
}

/**
 * @param {RpcClient} rpc
 * @param {string} hash
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Json | null>}
 */
async function readReceipt(rpc, hash, signal) {
  try {
    return await rpc.call('eth_getTransactionReceipt', [hash], { signal });
  } catch (error) {
    if (isTooLarge(error)) return null;
    throw error;
  }
}
