// Replacements in the pool, observed while a page is open.

/** @typedef {{hash: string, from: string, nonce: string, maxFeePerGas?: string, gasPrice?: string}} PoolTransaction */
/**
 * @typedef {{at: number, sender: string, nonce: bigint, before: string, after: string, feeBefore: bigint,
 *   feeAfter: bigint}} Replacement
 */

const MAX_TRACKED = 10_000;
const MAX_REPLACEMENTS = 200;

/** @param {PoolTransaction} transaction */
const feeOf = ({ maxFeePerGas, gasPrice }) => BigInt(maxFeePerGas ?? gasPrice ?? '0x0');

/** Tracker of the newest transaction of each sender and nonce. */
export class ReplacementTracker {
  /** Replacements, the newest first. @type {Replacement[]} */
  list = [];
  /** @type {Map<string, PoolTransaction>} */
  #newest = new Map();

  /**
   * Adds a transaction of the pool. Returns true if it replaces another one.
   * @param {PoolTransaction} transaction
   * @param {number} at time in milliseconds
   */
  add(transaction, at) {
    const key = `${transaction.from.toLowerCase()}-${BigInt(transaction.nonce)}`;
    const before = this.#newest.get(key);
    this.#newest.delete(key);
    this.#newest.set(key, transaction);
    if (this.#newest.size > MAX_TRACKED) {
      const [oldest] = this.#newest.keys();
      if (oldest !== undefined) this.#newest.delete(oldest);
    }
    if (before === undefined || before.hash === transaction.hash) return false;
    const replacement = {
      at,
      sender: transaction.from,
      nonce: BigInt(transaction.nonce),
      before: before.hash,
      after: transaction.hash,
      feeBefore: feeOf(before),
      feeAfter: feeOf(transaction),
    };
    this.list = [replacement, ...this.list].slice(0, MAX_REPLACEMENTS);
    return true;
  }
}
