// A step that the node sends in parts, because it is larger than one message.

/** @typedef {import('./stream.js').StepMessage} StepMessage */
/** @typedef {StepMessage & {part?: {index: string, last: boolean}}} StepPart */

/** Collects the parts of one step. */
export class StepAssembler {
  /** @type {StepMessage | null} */
  #step = null;
  #next = 0n;

  /** Returns true if no step is incomplete. */
  get isEmpty() {
    return this.#step === null;
  }

  /** Drops an incomplete step: the feed starts over at its cursor. */
  clear() {
    this.#step = null;
    this.#next = 0n;
  }

  /**
   * Returns the step once it is complete, and null before.
   * @param {StepPart} message
   * @returns {StepMessage | null}
   * @throws {Error} if a part is missing
   */
  add(message) {
    const { part, ...step } = message;
    if (part === undefined) {
      if (this.#step !== null) throw new Error('a step arrived before the last part of the step before it');
      return message;
    }
    if (BigInt(part.index) !== this.#next || (this.#step !== null && this.#step.hash !== step.hash)) {
      throw new Error(`part ${part.index} of step ${step.hash} arrived instead of part ${this.#next}`);
    }
    this.#next += 1n;
    if (this.#step === null) this.#step = step;
    else extend(this.#step, step);
    if (!part.last) return null;
    const whole = this.#step;
    this.clear();
    return whole;
  }
}

/** @param {StepMessage} whole @param {StepMessage} step */
const extend = (whole, step) => {
  for (const transaction of step.transactions) whole.transactions.push(transaction);
  for (const receipt of step.receipts) {
    const last = whole.receipts[whole.receipts.length - 1];
    if (last === undefined || last.transactionHash !== receipt.transactionHash) whole.receipts.push(receipt);
    else for (const log of receipt.logs) last.logs.push(log);
  }
};
