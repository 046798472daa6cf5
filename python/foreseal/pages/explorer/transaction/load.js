// Reads of the transaction page.

import { RpcError, isAbort } from '../../lib/rpc.js';
import { isHash, parseCount } from '../../lib/values.js';
import { MAX_GAS } from '../receipts.js';

/** @typedef {import('../../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {import('./life-cycle.js').TransactionStatus} TransactionStatus */
/** @typedef {Record<string, any>} Json */
/**
 * Transaction with its receipt. `receiptError` is the reason why a large receipt was not read.
 * @typedef {{status: TransactionStatus, transaction: Json | null, receipt: Json | null, receiptError: Error | null,
 *   node: any, timestamp: number | null}} Data
 */

/** Milliseconds for a receipt of several megabytes. */
const LARGE_TIMEOUT = 60_000;

/** @param {TransactionStatus} one @param {TransactionStatus} other */
const isSamePosition = (one, other) => one.blockNumber === other.blockNumber && one.flashblockIndex === other.flashblockIndex;

/** Returns true if the receipt may have several megabytes. @param {Json | null} transaction */
const isLarge = (transaction) => transaction !== null && parseCount(transaction['gas']) > MAX_GAS;

/** Returns true if nothing more is read while the status stays. @param {Data} data */
export const isComplete = ({ receipt, receiptError, status }) =>
  receipt !== null || receiptError !== null || status.blockNumber === undefined;

/**
 * Reads the transaction. While its status is the same, the rest of the previous data stays. A receipt that may be large
 * is read by the call after the first one, so that the page appears before, and once for each position in the chain.
 * @param {RpcClient} rpc
 * @param {string} hash
 * @param {Data | null} previous
 * @param {AbortSignal} signal
 * @returns {Promise<Data>}
 */
export async function loadTransaction(rpc, hash, previous, signal) {
  if (!isHash(hash)) throw new Error(`${hash.slice(0, 80)} is not the hash of a transaction: write 0x and 64 hex digits.`);
  const options = { signal };
  const reads = [rpc.call('foreseal_transactionStatus', [hash], options), rpc.call('foreseal_status', [], options)];
  if (previous !== null) {
    const [status, node] = await Promise.all(reads);
    const isSame = isSamePosition(status, previous.status);
    if (isSame && isComplete(previous) && (isLarge(previous.transaction) || status.status === previous.status.status)) {
      return { ...previous, status, node };
    }
    if (isSame && isLarge(previous.transaction)) return { ...previous, status, node, ...(await largeReceipt(rpc, hash, signal)) };
  }
  const [status, node, transaction] = await Promise.all([...reads, rpc.call('eth_getTransactionByHash', [hash], options)]);
  const receipt = isLarge(transaction) ? null : await rpc.call('eth_getTransactionReceipt', [hash], options);
  const timestamp = transaction?.blockTimestamp ? 1000 * parseCount(transaction.blockTimestamp) : null;
  return { status, transaction, receipt, receiptError: null, node, timestamp };
}

/**
 * Reads a receipt that may be large. The page is useful without it.
 * @param {RpcClient} rpc @param {string} hash @param {AbortSignal} signal
 * @returns {Promise<{receipt: Json | null, receiptError: Error | null}>}
 */
async function largeReceipt(rpc, hash, signal) {
  try {
    const receipt = await rpc.call('eth_getTransactionReceipt', [hash], { signal, alone: true, timeout: LARGE_TIMEOUT });
    return { receipt, receiptError: null };
  } catch (error) {
    if (isAbort(error) || (error instanceof RpcError && error.retryAfterMs !== null)) throw error;
    return { receipt: null, receiptError: error instanceof Error ? error : new Error(String(error)) };
  }
}
