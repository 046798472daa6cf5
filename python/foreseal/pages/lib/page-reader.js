// Pages of equal size from a pager whose calls return any number of logs.

/** @typedef {import('./log-pages.js').LogPager} LogPager */
/** @typedef {import('./log-pages.js').Log} Log */

/** Reads of a pager for one page. A search that finds less by then waits for its reader. */
const MAX_READS = 16;

/** Reader of pages, which reports each log as soon as it is found. */
export class PageReader {
  #pager;
  #limit;
  /** @type {Log[]} */
  #surplus = [];
  /** Logs of the current page that were reported. */
  #count = 0;

  /** @param {LogPager} pager @param {number} limit logs of a page */
  constructor(pager, limit) {
    this.#pager = pager;
    this.#limit = limit;
  }

  get done() {
    return this.#pager.done && this.#surplus.length === 0;
  }

  /** True if the chain has no more logs yet. */
  get isIdle() {
    return this.#pager.isIdle && this.#surplus.length === 0;
  }

  /** First block that the search has read to its end, or null. */
  get reached() {
    return this.#pager.reached;
  }

  /**
   * Reads until the page is full, the search ends, or the number of reads is used up. After an abort, the next call
   * completes the page.
   * @param {(logs: Log[]) => void} onLogs
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>} false if the page is not full and the search has not ended
   */
  async read(onLogs, signal) {
    for (let reads = 0; ; reads += 1) {
      this.#report(onLogs);
      const isFull = this.#count === this.#limit;
      if (isFull || this.done || (reads > 0 && this.isIdle)) {
        this.#count = 0;
        return true;
      }
      if (reads === MAX_READS) return false;
      this.#surplus = await this.#pager.next(signal);
      signal.throwIfAborted();
    }
  }

  /** @param {(logs: Log[]) => void} onLogs */
  #report(onLogs) {
    const logs = this.#surplus.splice(0, this.#limit - this.#count);
    this.#count += logs.length;
    if (logs.length > 0) onLogs(logs);
  }
}
