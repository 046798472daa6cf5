// Reads of the tokens that lists show. A block may have transfers of thousands of tokens, so the reads have a rate.

/** @typedef {import('./tokens.js').Token} Token */
/**
 * @typedef {{load: (address: string) => Promise<Token>, resolve: (token: Promise<Token>) => void, address: string,
 *   signal: AbortSignal}} Waiting
 */

/** Tokens that are read at once after a pause. */
const BURST = 10;
/** Milliseconds between two reads beyond the burst. */
const INTERVAL = 500;

/** Queue of reads, newest first. Reads whose signal has aborted are dropped. */
export class TokenQueue {
  /** @type {Waiting[]} */
  #waiting = [];
  #isRunning = false;
  #left = BURST;
  #filled;
  #now;
  #sleep;

  /** @param {{now?: () => number, sleep?: (ms: number) => Promise<void>}} [clock] in milliseconds */
  constructor({ now = () => performance.now(), sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = {}) {
    this.#now = now;
    this.#sleep = sleep;
    this.#filled = now();
  }

  /**
   * Reads a token when its turn comes. The promise never settles if the signal aborts before.
   * @param {(address: string) => Promise<Token>} load
   * @param {string} address
   * @param {AbortSignal} signal
   * @returns {Promise<Token>}
   */
  read(load, address, signal) {
    return new Promise((resolve) => {
      this.#waiting.push({ load, resolve, address, signal });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run() {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      this.#waiting = this.#waiting.filter(({ signal }) => !signal.aborted);
      if (!this.#spend()) {
        await this.#sleep(INTERVAL);
        continue;
      }
      const next = this.#waiting.pop();
      if (next !== undefined) next.resolve(next.load(next.address));
    }
    this.#isRunning = false;
  }

  /** Returns true if a read is allowed now. */
  #spend() {
    const now = this.#now();
    const earned = Math.floor((now - this.#filled) / INTERVAL);
    this.#left = Math.min(BURST, this.#left + earned);
    this.#filled += earned * INTERVAL;
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
