// Several pagers of logs as one, in reverse order of the chain.

import { parseCount } from './values.js';

/** @typedef {import('./log-pages.js').LogPager} LogPager */
/** @typedef {import('./log-pages.js').Log} Log */

/** @param {Log} log */
const position = (log) => [parseCount(log['blockNumber']), parseCount(log['logIndex'])];

/** @param {Log} one @param {Log} other */
function isNewer(one, other) {
  const [[block = 0, index = 0], [otherBlock = 0, otherIndex = 0]] = [position(one), position(other)];
  return block === otherBlock ? index > otherIndex : block > otherBlock;
}

/**
 * Merges pagers that return the newest logs first. A log that several pagers return appears once.
 * @implements {LogPager}
 */
export class MergedPages {
  #sources;
  #limit;
  /** @type {string | null} */
  #last = null;

  /** @param {readonly LogPager[]} pagers @param {number} limit logs of a page */
  constructor(pagers, limit) {
    this.#sources = pagers.map((pager) => ({ pager, logs: /** @type {Log[]} */ ([]) }));
    this.#limit = limit;
  }

  get done() {
    return this.#sources.every(({ pager, logs }) => pager.done && logs.length === 0);
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Log[]>} */
  async next(signal) {
    /** @type {Log[]} */
    const page = [];
    while (page.length < this.#limit) {
      await this.#fill(signal);
      const log = this.#removeNewest();
      if (log === null) break;
      const key = position(log).join();
      if (key !== this.#last) page.push(log);
      this.#last = key;
    }
    return page;
  }

  /** Reads the next page of each pager whose logs are used up. @param {AbortSignal | undefined} signal */
  async #fill(signal) {
    await Promise.all(this.#sources.map(async (source) => {
      while (source.logs.length === 0 && !source.pager.done) source.logs = await source.pager.next(signal);
    }));
  }

  /** Removes and returns the newest log. */
  #removeNewest() {
    const filled = this.#sources.filter((source) => source.logs.length > 0);
    const [first, ...others] = filled;
    if (first === undefined) return null;
    const newest = others.reduce(
      (best, source) => (isNewer(/** @type {Log} */ (source.logs[0]), /** @type {Log} */ (best.logs[0])) ? source : best),
      first,
    );
    return newest.logs.shift() ?? null;
  }
}
