// The live chain: the model of the newest blocks, fed by the streams of the node.

import { FeedPoller } from '../lib/feed-poller.js';
import { FeedStream, PoolStream, webSocketUrl } from '../lib/stream.js';
import { parseCount, toQuantity } from '../lib/values.js';
import { ChainModel } from './chain.js';
import { FeedHealth } from './feed-health.js';
import { readNewestBlock } from './newest-block.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {import('../lib/stream.js').StreamState} StreamState */
/** @typedef {import('../lib/stream.js').StepMessage} StepMessage */
/** @typedef {import('../lib/stream.js').Cursor} Cursor */
/**
 * Time in milliseconds from the arrival of a transaction in the pool until its step.
 * @typedef {{at: number, ms: number}} Delay
 */

const HISTORY = 40;
const MAX_DELAYS = 240;
const MAX_WAITING = 5000;
const HIDDEN_MS = 30_000;
const RELOAD_MS = 2000;
const MAX_RELOAD_MS = 30_000;
/** Milliseconds between reads of the newest block while the feed is paused, and between checks of the feed. */
const READ_MS = 2000;
const CHECK_MS = 5000;
const STREAM_RETRY_MS = 60_000;

/**
 * Reads the chain once, then follows it. Pauses while the page is hidden.
 *
 *     load -> feed -> (WebSockets fail) -> poller -> feed
 *               |                            |
 *               +-- the cursor brings no step +--> load at intervals -> feed from the newest step
 */
export class Live {
  model = new ChainModel();
  /**
   * `reading` if only the newest block is read, because the feed brought no step.
   * @type {StreamState | 'polling' | 'reading'}
   */
  state = 'connecting';
  /** @type {Error | null} */
  error = null;
  /** @type {number | null} */
  chainId = null;
  /** @type {Delay[]} */
  delays = [];
  /** Local time minus the sequencer's time in milliseconds, without the time of transport. */
  clockOffset = 0;
  /** Local time of the last message. */
  heardAt = 0;

  #rpc;
  #url;
  /** @type {FeedStream | null} */
  #feed = null;
  /** @type {FeedPoller | null} */
  #poller = null;
  /** @type {PoolStream | null} */
  #pool = null;
  /** @type {Map<string, number>} */
  #waiting = new Map();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  #isStarted = false;
  #isPaused = false;
  #health = new FeedHealth();
  /** Time before which the feed is not tried, after a cursor that brought no step. */
  #followAt = 0;
  #loadFailures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #loadTimer;
  /** Number of the current load or feed; those before it are stopped. */
  #generation = 0;
  #streamRetryAt = 0;
  /** True if the stream worked since the steps were last read over HTTP. */
  #hasStreamed = false;
  #hasOffset = false;
  #hasHistory = false;
  #frame = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #hiddenTimer;

  /** @param {RpcClient} rpc @param {string} url */
  constructor(rpc, url) {
    this.#rpc = rpc;
    this.#url = webSocketUrl(url);
  }

  /** @param {() => void} listener @returns {() => void} */
  subscribe(listener) {
    this.#listeners.add(listener);
    if (!this.#isStarted) {
      this.#isStarted = true;
      document.addEventListener('visibilitychange', () => this.#onVisibility());
      setInterval(() => this.#checkFeed(), CHECK_MS);
      void this.#load();
    }
    return () => this.#listeners.delete(listener);
  }

  /** Reads the last sealed blocks, for the list and the charts. */
  async loadHistory() {
    if (this.#hasHistory) return;
    this.#hasHistory = true;
    try {
      const latest = parseCount(await this.#rpc.call('eth_blockNumber'));
      const first = Math.max(0, latest - HISTORY + 1);
      const numbers = Array.from({ length: latest - first + 1 }, (_, offset) => latest - offset);
      const blocks = numbers.map((number) => this.#rpc.call('eth_getBlockByNumber', [toQuantity(number), false]));
      for (const block of await Promise.all(blocks)) if (block) this.model.addSealed(block);
      this.#notify();
    } catch {
      this.#hasHistory = false;
    }
  }

  /** Follows the pool as well, to measure the time until a step. @returns {() => void} stops it */
  watchPool() {
    const pool = new PoolStream(this.#url, { onTransaction: (hash) => this.#arrived(hash) });
    this.#pool = pool;
    pool.start();
    return () => {
      pool.stop();
      this.#pool = null;
      this.#waiting.clear();
    };
  }

  async #load() {
    const generation = this.#generation;
    try {
      const [chainId, page] = await Promise.all([
        this.#rpc.call('eth_chainId'),
        this.#rpc.call('foreseal_getFlashblocks', [null, '0x1']),
      ]);
      const newest = await readNewestBlock(this.#rpc, page.cursor);
      if (generation !== this.#generation) return;
      this.chainId = parseCount(chainId);
      if (newest) this.model.addPending(newest.steps, newest.first, newest.receipts);
      this.error = null;
      this.#loadFailures = 0;
      if (Date.now() >= this.#followAt) this.#follow(page.cursor);
      else this.#readAgain();
    } catch (error) {
      if (generation !== this.#generation) return;
      this.error = error instanceof Error ? error : new Error(String(error));
      this.state = 'waiting';
      this.#loadFailures += 1;
      this.#loadAfter(Math.min(MAX_RELOAD_MS, RELOAD_MS * 2 ** (this.#loadFailures - 1)));
    }
    this.#notify();
  }

  #readAgain() {
    this.state = 'reading';
    this.heardAt = Date.now();
    this.#loadAfter(READ_MS);
  }

  /** @param {number} ms */
  #loadAfter(ms) {
    clearTimeout(this.#loadTimer);
    this.#loadTimer = setTimeout(() => this.#load(), ms);
  }

  /** @param {Cursor} cursor */
  #follow(cursor) {
    this.#feed = new FeedStream(this.#url, {
      cursor,
      onStep: (step) => this.#step(step),
      onHeartbeat: () => this.#progress(),
      onGap: () => this.#restart(),
      onState: (state, error) => this.#onState(state, error),
    });
    this.#health.reset();
    this.#feed.start();
  }

  /** @param {StreamState} state @param {Error | null} error */
  #onState(state, error) {
    const feed = this.#feed;
    if (feed === null) return;
    this.state = state;
    this.error = error;
    if (state === 'live') this.#health.accepted();
    const next = state === 'waiting' ? this.#health.lost() : 'retry';
    if (next === 'drop') this.#drop();
    else if (next === 'poll' && feed.cursor !== null) this.#poll(feed.cursor);
    this.#notify();
  }

  /** Drops the cursor of a feed that is connected but sends no step. An idle chain's cursor is its newest step. */
  async #checkFeed() {
    const feed = this.#feed;
    if (feed === null || this.state !== 'live' || !this.#health.isStalled) return;
    const page = await this.#rpc.call('foreseal_getFlashblocks', [null, '0x1']).catch(() => null);
    if (feed !== this.#feed || page === null) return;
    if (page.cursor.hash === feed.cursor?.hash) this.#progress();
    else if (this.#health.isStalled) this.#drop();
  }

  /** Reads the newest block instead of the steps after the cursor, and returns to the feed later. */
  #drop() {
    this.#stop();
    this.#waiting.clear();
    this.#followAt = this.#health.drop();
    this.state = 'reading';
    void this.#load();
  }

  /** Replaces the stream by reads over HTTP. @param {Cursor} cursor */
  #poll(cursor) {
    this.#stop();
    this.#health.reset();
    this.state = 'polling';
    const poller = new FeedPoller(this.#rpc, {
      cursor,
      onStep: (step) => this.#step(step),
      onGap: () => this.#restart(),
      onPoll: (error) => this.#polled(poller, error),
    });
    this.#poller = poller;
    // A stream that worked before is lost because of an outage, which has ended once the node answers.
    this.#streamRetryAt = this.#hasStreamed ? 0 : Date.now() + STREAM_RETRY_MS;
    this.#hasStreamed = false;
    poller.start();
  }

  /**
   * Returns to the stream after an outage of the node, and tries it from time to time.
   * @param {FeedPoller} poller @param {Error | null} error
   */
  #polled(poller, error) {
    const isBack = this.error !== null && error === null;
    this.error = error;
    this.#heard();
    if (error === null) this.#health.progress();
    else if (this.#health.pageFailed(error)) {
      this.#drop();
      return;
    }
    if (error !== null || !(isBack || Date.now() > this.#streamRetryAt)) return;
    poller.stop();
    this.#poller = null;
    this.#follow(poller.cursor);
  }

  #stop() {
    this.#generation += 1;
    clearTimeout(this.#loadTimer);
    const feed = this.#feed;
    // A feed that is stopped reports its state.
    this.#feed = null;
    feed?.stop();
    this.#poller?.stop();
    this.#poller = null;
  }

  #restart() {
    this.#stop();
    this.model.clear();
    this.#waiting.clear();
    const hadHistory = this.#hasHistory;
    this.#hasHistory = false;
    void this.#load();
    if (hadHistory) void this.loadHistory();
  }

  /** @param {StepMessage} step */
  #step(step) {
    this.model.apply(step);
    this.#measure(step);
    this.#progress();
  }

  #progress() {
    this.#health.progress();
    this.#hasStreamed = this.#feed !== null;
    this.#heard();
  }

  /** @param {StepMessage} step */
  #measure(step) {
    if (step.removed) return;
    const now = Date.now();
    // The smallest difference contains the least transport time. It decays, so that a changed clock is noticed.
    const offset = now - parseCount(step.time);
    this.clockOffset = this.#hasOffset ? Math.min(offset, this.clockOffset + 1) : offset;
    this.#hasOffset = true;
    for (const { hash } of step.transactions) {
      const arrived = this.#waiting.get(/** @type {string} */ (hash));
      if (arrived === undefined) continue;
      this.#waiting.delete(/** @type {string} */ (hash));
      this.delays = [...this.delays.slice(1 - MAX_DELAYS), { at: now, ms: performance.now() - arrived }];
    }
  }

  /** @param {unknown} hash */
  #arrived(hash) {
    if (typeof hash !== 'string') return;
    this.#waiting.set(hash, performance.now());
    if (this.#waiting.size <= MAX_WAITING) return;
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined) this.#waiting.delete(oldest);
  }

  #heard() {
    this.heardAt = Date.now();
    this.#notify();
  }

  #onVisibility() {
    clearTimeout(this.#hiddenTimer);
    if (document.hidden) {
      this.#hiddenTimer = setTimeout(() => {
        this.#isPaused = true;
        this.#stop();
        this.state = 'stopped';
        this.#pool?.stop();
      }, HIDDEN_MS);
    } else if (this.#isPaused) {
      // Many steps may have passed: read the chain again instead of replaying them.
      this.#isPaused = false;
      this.#restart();
      this.#pool?.start();
    }
  }

  /** Notifies at most once a frame: a burst of messages renders once. */
  #notify() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#listeners.forEach((listener) => listener());
    });
  }
}

