// Pages of logs, oldest first by cursor, or newest first by windows of blocks.
//
// The time of a search depends on the number of its results, not on its range. A search for the newest logs therefore
// tries its whole range first. If that has many, it goes on with a small window at the end of the chain, which it
// enlarges until it finds enough.

import { parseCount, toQuantity } from './values.js';

/** @typedef {import('./rpc.js').RpcClient} RpcClient */
/** @typedef {{address?: string | string[], topics?: (string | string[] | null)[]}} LogFilter */
/** @typedef {Record<string, any>} Log */
/** @typedef {{next: (signal?: AbortSignal) => Promise<Log[]>, done: boolean}} LogPager */

const FIRST_WINDOW = 2000;
const GROWTH = 8;
const MAX_PAGE = 1000;
/** Most logs of a whole range that are read at once. */
const FEW = 100;

/**
 * Pages in the order of the chain.
 * @implements {LogPager}
 */
export class OldestFirst {
  done = false;
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
    return logs;
  }
}

/** Returns the number of the block under construction. @param {RpcClient} rpc @param {AbortSignal} [signal] */
export async function openBlock(rpc, signal) {
  const pending = await rpc.call('eth_getBlockByNumber', ['pending', false], { signal });
  return parseCount(pending.number);
}

/**
 * Pages in reverse order, from the newest step back to the first block.
 * @implements {LogPager}
 */
export class NewestFirst {
  done = false;
  #rpc;
  #filter;
  #limit;
  #end;
  #start;
  #size = FIRST_WINDOW;
  #hasTriedAll = false;
  /** @type {Log[]} */
  #rest = [];
  /** First block of the open end of the chain, or null if the range ends before it. @type {number | null} */
  #open;

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

  /** @param {AbortSignal} [signal] @returns {Promise<Log[]>} */
  async next(signal) {
    if (!this.#hasTriedAll) {
      this.#hasTriedAll = true;
      const [newest, few] = await Promise.all([this.#openEnd(signal), this.#few(signal)]);
      this.#rest.push(...newest.reverse(), ...(few ?? []).reverse());
      if (few !== null) this.#end = this.#start - 1;
    }
    while (this.#rest.length < this.#limit && this.#end >= this.#start) {
      const from = Math.max(this.#start, this.#end - this.#size + 1);
      const found = await this.#window(from, this.#end, signal);
      if (found === null) {
        this.#size = Math.max(1, Math.floor(this.#size / GROWTH));
        continue;
      }
      this.#rest.push(...found.reverse());
      this.#end = from - 1;
      if (found.length < this.#limit) this.#size *= GROWTH;
    }
    const page = this.#rest.splice(0, this.#limit);
    this.done = this.#rest.length === 0 && this.#end < this.#start;
    return page;
  }

  /**
   * Returns all logs of the sealed range, or null if they are many.
   * @param {AbortSignal} [signal] @returns {Promise<Log[] | null>}
   */
  async #few(signal) {
    if (this.#end < this.#start) return [];
    const filter = { ...this.#filter, fromBlock: toQuantity(this.#start), toBlock: toQuantity(this.#end) };
    const pager = new OldestFirst(this.#rpc, filter, FEW);
    const logs = await pager.next(signal);
    return pager.done ? logs : null;
  }

  /**
   * Returns the logs from the open end's first block up to the newest step. The block may have been sealed since.
   * @param {AbortSignal} [signal]
   */
  async #openEnd(signal) {
    if (this.#open === null) return [];
    const from = Math.max(this.#open, this.#start);
    const filter = { ...this.#filter, fromBlock: toQuantity(from), toBlock: 'pending' };
    const pager = new OldestFirst(this.#rpc, filter, MAX_PAGE);
    /** @type {Log[]} */
    const logs = [];
    for (;;) {
      const page = await pager.next(signal);
      if (page.length === 0) return logs;
      logs.push(...page);
    }
  }

  /**
   * Returns the logs of a window, or null if they exceed one page and the window can be smaller.
   * @param {number} from @param {number} to @param {AbortSignal} [signal]
   * @returns {Promise<Log[] | null>}
   */
  async #window(from, to, signal) {
    const filter = { ...this.#filter, fromBlock: toQuantity(from), toBlock: toQuantity(to) };
    const pager = new OldestFirst(this.#rpc, filter, MAX_PAGE);
    const logs = await pager.next(signal);
    if (!pager.done && to > from) return null;
    // The cursor of a range up to a number is null only after a page that ends inside the range.
    while (!pager.done) logs.push(...(await pager.next(signal)));
    return logs;
  }
}
