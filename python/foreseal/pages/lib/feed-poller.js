// The feed of steps over HTTP, for networks that block WebSockets.

import { RpcError } from './rpc.js';

/** @typedef {import('./rpc.js').RpcClient} RpcClient */
/** @typedef {import('./stream.js').Cursor} Cursor */
/** @typedef {import('./stream.js').StepMessage} StepMessage */
/** @typedef {import('./stream.js').Timers} Timers */

const CURSOR_GONE = -32001;
const INTERVAL = 1000;
const MAX_INTERVAL = 15_000;
const PAGE = '0x40';
/** Steps of a page after a page that failed: one step may be as large as a page. */
const ONE = '0x1';

/** Reads the steps after a cursor once a second, in the same form as the stream. */
export class FeedPoller {
  #rpc;
  #cursor;
  #options;
  #timers;
  #failures = 0;
  #isStopped = false;
  /** @type {any} */
  #timer = null;

  /**
   * @param {RpcClient} rpc
   * @param {{cursor: Cursor, onStep: (step: StepMessage) => void, onGap: () => void, onPoll: (error: Error | null) => void,
   *   timers?: Timers}} options `onGap` reports that the cursor is no longer available, and ends the polling
   */
  constructor(rpc, options) {
    this.#rpc = rpc;
    this.#cursor = options.cursor;
    this.#options = options;
    this.#timers = options.timers ?? { set: (run, ms) => setTimeout(run, ms), clear: (timer) => clearTimeout(timer) };
  }

  /** Position after the last step that was read. */
  get cursor() {
    return this.#cursor;
  }

  start() {
    void this.poll();
  }

  stop() {
    this.#isStopped = true;
    this.#timers.clear(this.#timer);
  }

  /** Reads one page, and plans the next read. */
  async poll() {
    let isComplete = true;
    try {
      const page = await this.#rpc.call('foreseal_getFlashblocks', [this.#cursor, this.#failures === 0 ? PAGE : ONE], { alone: true });
      if (this.#isStopped) return;
      page.flashblocks.forEach(this.#options.onStep);
      this.#cursor = page.cursor;
      this.#failures = 0;
      isComplete = page.complete;
      this.#options.onPoll(null);
    } catch (error) {
      if (this.#isStopped) return;
      if (error instanceof RpcError && error.code === CURSOR_GONE) {
        this.stop();
        this.#options.onGap();
        return;
      }
      this.#failures += 1;
      this.#options.onPoll(error instanceof Error ? error : new Error(String(error)));
    }
    if (this.#isStopped) return;
    const wait = isComplete ? Math.min(MAX_INTERVAL, INTERVAL * 2 ** this.#failures) : 0;
    this.#timer = this.#timers.set(() => void this.poll(), wait);
  }
}
