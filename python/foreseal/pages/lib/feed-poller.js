// The feed of steps over HTTP, for networks that block WebSockets.

import { RpcError } from './rpc.js';
import { StepAssembler } from './step-assembler.js';
import { cursorOf } from './stream.js';

/** @typedef {import('./rpc.js').RpcClient} RpcClient */
/** @typedef {import('./stream.js').Cursor} Cursor */
/** @typedef {import('./stream.js').StepMessage} StepMessage */
/** @typedef {import('./stream.js').Timers} Timers */

const CURSOR_GONE = -32001;
const INTERVAL = 1000;
const MAX_INTERVAL = 15_000;
const PAGE = '0x40';
/** Failures in a row after which one step, or part of one, is requested at a time. */
const MAX_FAILURES = 2;

/** Reads the steps after a cursor once a second, in the same form as the stream. */
export class FeedPoller {
  #rpc;
  #cursor;
  /** @type {unknown} cursor of the page before, while it is inside a step */
  #partCursor = null;
  #parts = new StepAssembler();
  #options;
  #timers;
  #failures = 0;
  #requestsLess = false;
  #isStopped = false;
  /** @type {any} */
  #timer = null;

  /**
   * @param {RpcClient} rpc
   * @param {{cursor: Cursor, onStep: (step: StepMessage) => void, onGap: () => void,
   *   onPoll: (error: Error | null) => void, timers?: Timers}} options `onGap` reports that the cursor is no longer
   *   available, and ends the polling
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
      const params = [this.#partCursor ?? this.#cursor, this.#requestsLess ? '0x1' : PAGE];
      const page = await this.#rpc.call('foreseal_getFlashblocks', params, { alone: true });
      if (this.#isStopped) return;
      this.#receive(page);
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
      // The same request would fail again.
      this.#requestsLess ||= this.#failures >= MAX_FAILURES;
      this.#options.onPoll(error instanceof Error ? error : new Error(String(error)));
    }
    if (this.#isStopped) return;
    const wait = isComplete ? Math.min(MAX_INTERVAL, INTERVAL * 2 ** this.#failures) : 0;
    this.#timer = this.#timers.set(() => void this.poll(), wait);
  }

  /** @param {{flashblocks: StepMessage[], cursor: any}} page */
  #receive(page) {
    for (const message of page.flashblocks) {
      const step = this.#parts.add(message);
      if (step === null) continue;
      this.#options.onStep(step);
      if (!step.removed) this.#cursor = cursorOf(step);
      this.#requestsLess = false;
    }
    this.#partCursor = this.#parts.isEmpty ? null : page.cursor;
    if (this.#parts.isEmpty) this.#cursor = page.cursor;
  }
}
