// Pages of logs, oldest first by cursor, or newest first by windows of blocks.
//
// The time of a search depends on the number of its results, not on its range. A search for the newest logs therefore
// tries its whole range first. If that has many, it continues with a small window at the end of the chain, which it
// enlarges until it finds enough. The method pages forward only, so a block with more logs than a window may have is
// read from its first log on: its rows appear after one call, even if it has many logs.

import { parseCount, toQuantity } from './values.js';

/** @typedef {import('./rpc.js').RpcClient} RpcClient */
/** @typedef {{address?: string | string[], topics?: (string | string[] | null)[]}} LogFilter */
/** @typedef {Record<string, any>} Log */
/**
 * Reads a bounded number of logs at each call, which may be none. `isIdle` is true if the last call found that the
 * chain has no more logs yet. `reached` is the first block that the search has read to its end, or null.
 * @typedef {{next: (signal?: AbortSignal) => Promise<Log[]>, done: boolean, isIdle: boolean,
 *   reached: number | null}} LogPager
 */

const FIRST_WINDOW = 2000;
const GROWTH = 8;
/** Maximum logs of a window, which is read at once: each log may be large. */
const MAX_WINDOW = 100;

/**
 * Pages in the order of the chain.
 * @implements {LogPager}
 */
export class OldestFirst {
  done = false;
  isIdle = false;
  /** @type {number | null} */
  reached = null;
  /** @type {string | null} */
  #cursor = null;
  #rpc;
  #filter;
  #limit;

  /**
   * @param {RpcClient} rpc
   * @param {LogFilter & {fromBlock?: string, toBlock?: string, blockHash?: string}} filter
   * @param {number} limit logs of a page
   */
  constructor(rpc, filter, limit) {
    this.#rpc = rpc;
    this.#filter = filter;
    this.#limit = limit;
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Log[]>} an empty page if there are no new logs yet */
  async next(signal) {
    if (this.done) return [];
    const query = { filter: this.#filter, limit: toQuantity(this.#limit), ...(this.#cursor ? { cursor: this.#cursor } : {}) };
    const { logs, cursor } = await this.#rpc.call('foreseal_getLogs', [query], { signal, alone: true });
    this.#cursor = cursor;
    this.done = cursor === null;
    this.isIdle = logs.length === 0 && !this.done;
    return logs;
  }
}

/** Returns the number of the block under construction. @param {RpcClient} rpc @param {AbortSignal} [signal] */
export async function openBlock(rpc, signal) {
  const pending = await rpc.call('eth_getBlockByNumber', ['pending', false], { signal });
  return parseCount(pending.number);
}

/**
 * Pages from the newest block back to the first. The logs of a block are in reverse order as well, except in a block
 * that has more of them than a window.
 * @implements {LogPager}
 */
export class NewestFirst {
  done = false;
  isIdle = false;
  #rpc;
  #filter;
  #limit;
  #end;
  #start;
  #size = FIRST_WINDOW;
  /** First block that the next window may include: a window that failed had too many logs before it. */
  #floor = 0;
  #hasTriedAll = false;
  /** @type {Log[]} */
  #rest = [];
  /** First block of the open end of the chain, or null if the range ends before it. @type {number | null} */
  #open;
  /** Pages of a block with many logs. @type {{pager: OldestFirst, last: number} | null} */
  #block = null;

  /**
   * @param {RpcClient} rpc
   * @param {LogFilter} filter
   * @param {{limit: number, from?: number, to: number, open?: number | null}} options blocks of the range, the first
   * block of its open end, and logs of a page
   */
  constructor(rpc, filter, { limit, from = 0, to, open = null }) {
    this.#rpc = rpc;
    this.#filter = filter;
    this.#limit = limit;
    this.#start = from;
    this.#end = to;
    this.#open = open;
  }

  /**
   * Creates a pager over a range of blocks. Without a last block, or with one that is not sealed, the range includes
   * the block under construction.
   * @param {RpcClient} rpc
   * @param {LogFilter} filter
   * @param {{limit: number, from?: number | null, to?: number | null, open?: number | null}} options `open` is the
   * number of the block under construction, if it is known
   * @param {AbortSignal} [signal]
   */
  static async create(rpc, filter, { limit, from = null, to = null, open = null }, signal) {
    open ??= await openBlock(rpc, signal);
    const isOpen = to === null || to >= open;
    const range = { from: from ?? 0, to: isOpen ? open - 1 : to, open: isOpen ? open : null };
    return new NewestFirst(rpc, filter, { limit, ...range });
  }

  /** First block that the search has read to its end, or null at its start. */
  get reached() {
    return this.#hasTriedAll ? this.#end + 1 : null;
  }

  /**
   * Reads one window, or one page of a block with many logs. An aborted read is repeated by the next call.
   * @param {AbortSignal} [signal] @returns {Promise<Log[]>}
   */
  async next(signal) {
    const page = await this.#read(signal);
    this.done = this.#block === null && this.#rest.length === 0 && this.#end < this.#start;
    return page;
  }

  /** @param {AbortSignal | undefined} signal */
  async #read(signal) {
    if (!this.#hasTriedAll) return this.#first(signal);
    if (this.#block !== null) return this.#ofBlock(this.#block, signal);
    if (this.#rest.length === 0 && this.#end >= this.#start) return this.#window(signal);
    return this.#rest.splice(0, this.#limit);
  }

  /** Reads the open end, and tries the whole range before it. @param {AbortSignal | undefined} signal */
  async #first(signal) {
    const [opened, few] = await Promise.all([this.#openEnd(signal), this.#pageOf(this.#start, this.#end, signal)]);
    this.#hasTriedAll = true;
    if (few?.isComplete) this.#end = this.#start - 1;
    else if (few) this.#setFloor(few.logs);
    const newest = few?.isComplete ? few.logs.reverse() : [];
    if (opened?.block) {
      this.#rest = newest;
      this.#block = opened.block;
      return opened.logs;
    }
    this.#rest = [...(opened?.logs.reverse() ?? []), ...newest];
    return this.#rest.splice(0, this.#limit);
  }

  /**
   * Reads the logs from the open end's first block up to the newest step; if they are many, only the first of them.
   * The block may have been sealed since.
   * @param {AbortSignal | undefined} signal
   */
  async #openEnd(signal) {
    if (this.#open === null) return null;
    const from = Math.max(this.#open, this.#start);
    const filter = { ...this.#filter, fromBlock: toQuantity(from), toBlock: 'pending' };
    const pager = new OldestFirst(this.#rpc, filter, MAX_WINDOW);
    const logs = await pager.next(signal);
    if (logs.length === 0) return { logs, block: null };
    const more = await pager.next(signal);
    // Blocks after this one may come faster than their logs are read.
    const block = more.length === 0 ? null : { pager, last: from };
    return { logs: [...logs, ...more], block };
  }

  /**
   * Reads the next page of a block with many logs.
   * @param {{pager: OldestFirst, last: number}} block
   * @param {AbortSignal | undefined} signal
   */
  async #ofBlock({ pager, last }, signal) {
    const found = await pager.next(signal);
    const page = found.filter((log) => parseCount(log['blockNumber']) <= last);
    if (pager.done || pager.isIdle || page.length < found.length) this.#block = null;
    return page;
  }

  /** Reads the window before those that were read. @param {AbortSignal | undefined} signal @returns {Promise<Log[]>} */
  async #window(signal) {
    const end = this.#end;
    const from = Math.max(this.#start, end - this.#size + 1, Math.min(this.#floor, end));
    const found = await this.#pageOf(from, end, signal);
    if (found === null) return [];
    const { logs, isComplete, pager } = found;
    if (!isComplete && end > from) {
      this.#size = Math.max(1, Math.floor((end - from + 1) / GROWTH));
      this.#setFloor(logs);
      return [];
    }
    this.#end = from - 1;
    if (this.#floor > this.#end) this.#floor = 0;
    if (!isComplete) {
      this.#block = { pager, last: end };
      return logs;
    }
    if (logs.length * GROWTH < MAX_WINDOW) this.#size *= GROWTH;
    this.#rest = logs.reverse();
    return this.#rest.splice(0, this.#limit);
  }

  /** @param {readonly Log[]} logs first logs of a window that has more */
  #setFloor(logs) {
    const last = logs[logs.length - 1];
    if (last) this.#floor = Math.max(this.#floor, parseCount(last['blockNumber']) + 1);
  }

  /**
   * Reads the first logs of some blocks, and returns if these are all.
   * @param {number} from @param {number} to @param {AbortSignal | undefined} signal
   */
  async #pageOf(from, to, signal) {
    if (to < from) return null;
    const filter = { ...this.#filter, fromBlock: toQuantity(from), toBlock: toQuantity(to) };
    const pager = new OldestFirst(this.#rpc, filter, MAX_WINDOW);
    const logs = await pager.next(signal);
    // The cursor of a range up to a number is null only after a page that ends inside the range.
    return { logs, isComplete: pager.done, pager };
  }
}
