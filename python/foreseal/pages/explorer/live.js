// The live chain: the model of the newest blocks, fed by the streams of the node.

import { FeedPoller } from '../lib/feed-poller.js';
import { FeedStream, PoolStream, webSocketUrl } from '../lib/stream.js';
import { parseCount, toQuantity } from '../lib/values.js';
import { ChainModel } from './chain.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {import('../lib/stream.js').StreamState} StreamState */
/** @typedef {import('../lib/stream.js').StepMessage} StepMessage */
/** @typedef {import('../lib/stream.js').Cursor} Cursor */
/** Time in milliseconds from the arrival of a transaction in the pool until its step. @typedef {{at: number, ms: number}} Delay */

const HISTORY = 40;
const MAX_STEPS = 64;
/** Transactions that were in the block before the page was opened, whose receipts are read. */
const MAX_RECEIPTS = 20;
const MAX_DELAYS = 240;
const MAX_WAITING = 5000;
const HIDDEN_MS = 30_000;
const RELOAD_MS = 2000;
const MAX_RELOAD_MS = 30_000;
/** Failed connections after which the page reads the steps over HTTP instead. */
const MAX_FAILURES = 3;
const STREAM_RETRY_MS = 60_000;

/** Reads the chain once, then follows it. Pauses while the page is hidden. */
export class Live {
  model = new ChainModel();
  /** @type {StreamState | 'polling'} */
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
  #failures = 0;
  #loadFailures = 0;
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
    try {
      const [chainId, page] = await Promise.all([
        this.#rpc.call('eth_chainId'),
        this.#rpc.call('foreseal_getFlashblocks', [null, '0x1']),
      ]);
      this.chainId = parseCount(chainId);
      await this.#readPending(page.cursor);
      this.error = null;
      this.#loadFailures = 0;
      this.#follow(page.cursor);
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error));
      this.state = 'waiting';
      this.#loadFailures += 1;
      setTimeout(() => this.#load(), Math.min(MAX_RELOAD_MS, RELOAD_MS * 2 ** (this.#loadFailures - 1)));
    }
    this.#notify();
  }

  /** Reads the steps of the block under construction up to the cursor. @param {Cursor} cursor */
  async #readPending({ block, index }) {
    const last = parseCount(index);
    const first = Math.max(0, last - MAX_STEPS + 1);
    const indices = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    const found = await Promise.all(indices.map((step) =>
      this.#rpc.call('eth_getBlockByNumber', [{ blockNumber: block, flashblockIndex: toQuantity(step) }, step === last])));
    const steps = found.filter((step) => step !== null);
    // A block without steps is imported: it has the cursor, but it is sealed.
    if (steps.length !== indices.length) return;
    const hashes = steps[steps.length - 1].transactions.slice(-MAX_RECEIPTS).map((/** @type {{hash: string}} */ { hash }) => hash);
    this.model.addPending(steps, first, await this.#readReceipts(hashes));
  }

  /** Reads receipts by hash. The feed has those of later transactions. @param {string[]} hashes */
  async #readReceipts(hashes) {
    const found = await Promise.all(hashes.map((hash) => this.#rpc.call('eth_getTransactionReceipt', [hash])));
    return new Map(found.filter((receipt) => receipt !== null).map((receipt) => [receipt.transactionHash, receipt]));
  }

  /** @param {Cursor} cursor */
  #follow(cursor) {
    this.#feed = new FeedStream(this.#url, {
      cursor,
      onStep: (step) => this.#step(step),
      onHeartbeat: () => this.#heard(),
      onGap: () => this.#restart(),
      onState: (state, error) => this.#onState(state, error),
    });
    this.#failures = 0;
    this.#feed.start();
  }

  /** @param {StreamState} state @param {Error | null} error */
  #onState(state, error) {
    this.state = state;
    this.error = error;
    if (state === 'waiting') this.#failures += 1;
    if (state === 'live') {
      this.#failures = 0;
      this.#hasStreamed = true;
    }
    const cursor = this.#feed?.cursor ?? null;
    if (this.#failures >= MAX_FAILURES && cursor !== null) this.#poll(cursor);
    this.#notify();
  }

  /** Replaces the stream by reads over HTTP. @param {Cursor} cursor */
  #poll(cursor) {
    const feed = this.#feed;
    this.#feed = null;
    this.#failures = 0;
    feed?.stop();
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
    if (error !== null || !(isBack || Date.now() > this.#streamRetryAt)) return;
    poller.stop();
    this.#poller = null;
    this.#follow(poller.cursor);
  }

  #stop() {
    this.#feed?.stop();
    this.#feed = null;
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

