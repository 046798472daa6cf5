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
 * Merges pagers that return the newest blocks first. A log that several pagers return appears once.
 * @implements {LogPager}
 */
export class MergedPages {
  isIdle = false;
  #sources;
  /** Block of the last log, and the logs of it that were returned. */
  #block = -1;
  /** @type {Set<number>} */
  #returned = new Set();

  /** @param {readonly LogPager[]} pagers */
  constructor(pagers) {
    this.#sources = pagers.map((pager) => ({ pager, logs: /** @type {Log[]} */ ([]) }));
  }

  get done() {
    return this.#sources.every(({ pager, logs }) => pager.done && logs.length === 0);
  }

  get reached() {
    const each = this.#sources.map(({ pager }) => pager.reached);
    return each.includes(null) ? null : Math.max(.../** @type {number[]} */ (each));
  }

  /**
   * Reads each pager once whose logs are used up, and returns the logs whose order is certain.
   * @param {AbortSignal} [signal] @returns {Promise<Log[]>}
   */
  async next(signal) {
    await Promise.all(this.#sources.map(async (source) => {
      if (source.logs.length === 0 && !source.pager.done) source.logs = await source.pager.next(signal);
    }));
    /** @type {Log[]} */
    const page = [];
    while (this.#sources.every(({ pager, logs }) => logs.length > 0 || pager.done)) {
      const log = this.#removeNewest();
      if (log === null) break;
      if (this.#isFirst(log)) page.push(log);
    }
    return page;
  }

  /** Returns true if no pager has returned the log before. @param {Log} log */
  #isFirst(log) {
    const [block = 0, index = 0] = position(log);
    if (block !== this.#block) this.#returned.clear();
    this.#block = block;
    if (this.#returned.has(index)) return false;
    this.#returned.add(index);
    return true;
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
