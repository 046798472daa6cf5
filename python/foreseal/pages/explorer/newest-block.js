// Reads the block under construction without the feed, within a bound of bytes.

import { parseCount, toQuantity } from '../lib/values.js';
import { readReceipts } from './receipts.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {import('../lib/stream.js').Cursor} Cursor */
/** @typedef {Record<string, any>} Json */
/**
 * Block at consecutive steps, as `ChainModel.addPending` accepts it.
 * @typedef {{steps: Json[], first: number, receipts: Map<string, Json>}} NewestBlock
 */

const MAX_STEPS = 64;
/** Transactions that were in the block before the page was opened, whose receipts are read. */
const MAX_RECEIPTS = 20;
/** Bytes of a block whose transactions are read in full. */
const MAX_BLOCK_SIZE = 1_000_000;

/**
 * Reads the steps of the block under construction up to the cursor; null for a block that has none. The last step has
 * its transactions in full if they are small.
 * @param {RpcClient} rpc
 * @param {Cursor} cursor
 * @returns {Promise<NewestBlock | null>}
 */
export async function readNewestBlock(rpc, { block, index }) {
  const last = parseCount(index);
  const first = Math.max(0, last - MAX_STEPS + 1);
  /** @param {number} step @param {boolean} isFull */
  const read = (step, isFull) =>
    rpc.call('eth_getBlockByNumber', [{ blockNumber: block, flashblockIndex: toQuantity(step) }, isFull]);
  const indices = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
  const steps = await Promise.all(indices.map((step) => read(step, false)));
  const newest = steps[steps.length - 1];
  // A block without steps is imported: it has the cursor, but it is sealed.
  if (steps.includes(null)) return null;
  if (newest.transactions.length === 0 || parseCount(newest.size) > MAX_BLOCK_SIZE) return { steps, first, receipts: new Map() };
  const full = await read(last, true);
  if (full === null) return null;
  const receipts = await readReceipts(rpc, full.transactions.slice(-MAX_RECEIPTS), parseCount(full.gasUsed));
  return { steps: [...steps.slice(0, -1), full], first, receipts };
}
