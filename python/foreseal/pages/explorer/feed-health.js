// Decides when a feed that is connected brings nothing: the next step may be larger than the connection may hold, and
// each new subscription from the same cursor fails in the same way.

import { RpcError, TimeoutError } from '../lib/rpc.js';

/** Failures after an accepted subscription after which the cursor is dropped. */
const MAX_CURSOR_FAILURES = 2;
/** Rejected pages after which the cursor is dropped. After two of them, the poller requests one step at a time. */
const MAX_PAGE_FAILURES = 3;
/** Failed connections after which the steps are read over HTTP. */
const MAX_CONNECTION_FAILURES = 3;
/** Milliseconds without a step or a heartbeat on an accepted subscription. */
const STALL_MS = 15_000;
/** Milliseconds until the feed is tried again after the first dropped cursor, and at most. */
const MIN_PAUSE_MS = 5000;
const MAX_PAUSE_MS = 120_000;
/** Milliseconds of progress after which dropped cursors are forgotten. */
const CALM_MS = 60_000;

/** Counts failures since the last step or heartbeat: an accepted subscription alone is no progress. */
export class FeedHealth {
  #failures = 0;
  #pageFailures = 0;
  #isAccepted = false;
  #drops = 0;
  #now;
  #progressAt;
  #droppedAt = -Infinity;

  /** @param {() => number} [now] in milliseconds */
  constructor(now = Date.now) {
    this.#now = now;
    this.#progressAt = now();
  }

  /** Starts to count anew, for a new cursor. */
  reset() {
    this.#failures = 0;
    this.#pageFailures = 0;
    this.#isAccepted = false;
    this.#progressAt = this.#now();
  }

  /** Counts a step, or a heartbeat that names the cursor as the newest step. */
  progress() {
    this.reset();
    if (this.#now() - this.#droppedAt > CALM_MS) this.#drops = 0;
  }

  accepted() {
    this.#isAccepted = true;
  }

  /** Counts a lost connection. @returns {'retry' | 'poll' | 'drop'} */
  lost() {
    this.#failures += 1;
    if (this.#isAccepted && this.#failures >= MAX_CURSOR_FAILURES) return 'drop';
    return this.#failures >= MAX_CONNECTION_FAILURES ? 'poll' : 'retry';
  }

  /**
   * Counts a page of steps that failed. Returns true if the cursor is dropped: not for a node that is unreachable, or
   * that names a time.
   * @param {Error} error
   */
  pageFailed(error) {
    const isOfPage = error instanceof TimeoutError || (error instanceof RpcError && error.retryAfterMs === null);
    if (isOfPage) this.#pageFailures += 1;
    return this.#pageFailures >= MAX_PAGE_FAILURES;
  }

  get isStalled() {
    return this.#now() - this.#progressAt > STALL_MS;
  }

  /** Drops the cursor. Returns the time in milliseconds at which the feed may be tried again. */
  drop() {
    const pause = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** this.#drops);
    this.#drops += 1;
    this.#droppedAt = this.#now() + pause;
    return this.#droppedAt;
  }
}
