// Model of the newest blocks: the block under construction with its steps, and the sealed blocks before it.

import { parseCount } from '../lib/values.js';
import { firstTransfer } from './transfer-topics.js';

/** @typedef {import('../lib/stream.js').StepMessage} StepMessage */
/** @typedef {Record<string, any>} Header */
/**
 * @typedef {{hash: string, from: string, to: string | null, value: string, input: string, gasUsed: number | null,
 *   isSuccess: boolean | null, transfer: import('./transfer-topics.js').FirstTransfer | null}} TransactionEntry
 */
/**
 * Step of a block. `time` is null if the step was read without the feed.
 * @typedef {{index: number, hash: string, time: number | null, header: Header, gasUsed: number,
 *   transactionCount: number, transactions: TransactionEntry[], isWithdrawn: boolean}} StepEntry
 */
/**
 * Block. `steps` is empty if it was read as a sealed block.
 * @typedef {{number: number, header: Header, transactionCount: number, steps: StepEntry[],
 *   isSealed: boolean}} BlockEntry
 */

const MAX_BLOCKS = 64;
/** Number of the newest blocks whose transactions are retained. */
const MAX_DETAILED = 3;

/** The newest blocks, changed by the messages of the feed. */
export class ChainModel {
  /** @type {Map<number, BlockEntry>} */
  #blocks = new Map();

  /** Adds a sealed block as `eth_getBlockByNumber` returns it. @param {Header} block */
  addSealed(block) {
    const number = parseCount(block['number']);
    if (this.#blocks.has(number)) return;
    const transactionCount = block['transactions'].length;
    this.#blocks.set(number, { number, header: block, transactionCount, steps: [], isSealed: true });
    this.#trim();
  }

  /**
   * Adds the block under construction: the block at consecutive steps, with hashes except at the last.
   * @param {Header[]} steps
   * @param {number} [firstIndex] index of the first of them
   * @param {ReadonlyMap<string, Header>} [receipts] receipts of the last step's transactions by hash, as far as known
   */
  addPending(steps, firstIndex = 0, receipts = new Map()) {
    const last = steps[steps.length - 1];
    if (last === undefined) return;
    const number = parseCount(last['number']);
    // The transactions of a large block are hashes.
    const full = /** @type {Header[]} */ (last['transactions'].filter((/** @type {unknown} */ one) => typeof one !== 'string'));
    let [counted, gas] = [0, 0];
    const entries = steps.map((block, index) => {
      const count = block['transactions'].length;
      const gasUsed = parseCount(block['gasUsed']);
      const entry = {
        index: firstIndex + index,
        hash: block['hash'],
        time: null,
        header: block,
        gasUsed: gasUsed - gas,
        transactionCount: count - counted,
        transactions: full.slice(counted, count).map((one) => transactionEntry(one, receipts.get(one['hash']) ?? null)),
        isWithdrawn: false,
      };
      [counted, gas] = [count, gasUsed];
      return entry;
    });
    this.#closeOthers(number);
    this.#blocks.set(number, { number, header: last, transactionCount: counted, steps: entries, isSealed: false });
    this.#trim();
  }

  /** Applies a message of the feed. @param {StepMessage} message */
  apply(message) {
    if (message.removed) this.#withdraw(message);
    else this.#append(message);
  }

  /** @param {StepMessage} message */
  #append(message) {
    const number = parseCount(message.number);
    this.#closeOthers(number);
    const existing = this.#blocks.get(number);
    const block = existing ?? { number, header: message.header, transactionCount: 0, steps: [], isSealed: false };
    const live = block.steps.filter((step) => !step.isWithdrawn);
    if (live.some((step) => step.hash === message.hash)) return;
    const gas = live.reduce((sum, step) => sum + step.gasUsed, 0);
    const receipts = message.receipts;
    block.steps.push({
      index: parseCount(message.index),
      hash: message.hash,
      time: parseCount(message.time),
      header: message.header,
      gasUsed: parseCount(message.header['gasUsed']) - gas,
      transactionCount: message.transactions.length,
      transactions: message.transactions.map((one, index) => transactionEntry(one, receipts[index] ?? null)),
      isWithdrawn: false,
    });
    block.header = message.header;
    block.isSealed = false;
    block.transactionCount = live.reduce((sum, step) => sum + step.transactionCount, message.transactions.length);
    this.#blocks.set(number, block);
    this.#trim();
  }

  /** Seals the blocks before the one under construction, and removes those after it. @param {number} number */
  #closeOthers(number) {
    for (const [other, block] of this.#blocks) {
      if (other > number) this.#blocks.delete(other);
      else if (other < number) block.isSealed = true;
    }
  }

  /** @param {StepMessage} message */
  #withdraw(message) {
    const number = parseCount(message.number);
    const block = this.#blocks.get(number);
    const step = block?.steps.find((one) => one.hash === message.hash && !one.isWithdrawn);
    if (block === undefined) return;
    if (step === undefined) {
      this.#blocks.delete(number);
      return;
    }
    step.isWithdrawn = true;
    block.isSealed = false;
    const live = block.steps.filter((one) => !one.isWithdrawn);
    block.transactionCount = live.reduce((sum, one) => sum + one.transactionCount, 0);
    block.header = live[live.length - 1]?.header ?? block.header;
  }

  #trim() {
    const numbers = [...this.#blocks.keys()].sort((one, other) => other - one);
    for (const number of numbers.slice(MAX_BLOCKS)) this.#blocks.delete(number);
    for (const number of numbers.slice(MAX_DETAILED)) {
      for (const step of this.#blocks.get(number)?.steps ?? []) step.transactions = [];
    }
  }

  clear() {
    this.#blocks.clear();
  }

  /** Blocks, the newest first. */
  get blocks() {
    return [...this.#blocks.values()].sort((one, other) => other.number - one.number);
  }

  /** Sealed blocks, the newest first. */
  get sealed() {
    return this.blocks.filter((block) => block.isSealed);
  }

  /** Block under construction, or null before it is read. */
  get pending() {
    return this.blocks.find((block) => !block.isSealed) ?? null;
  }

  /** Newest step, or null. */
  get head() {
    const block = this.blocks.find((one) => one.steps.some((step) => !step.isWithdrawn));
    const steps = block?.steps.filter((step) => !step.isWithdrawn) ?? [];
    const step = steps[steps.length - 1];
    return block && step ? { number: block.number, index: step.index, hash: step.hash } : null;
  }
}

/** @param {Header} transaction @param {Header | null} receipt @returns {TransactionEntry} */
function transactionEntry(transaction, receipt) {
  return {
    hash: transaction['hash'],
    from: transaction['from'],
    to: transaction['to'] ?? null,
    value: transaction['value'],
    input: transaction['input'].slice(0, 10),
    gasUsed: receipt ? parseCount(receipt['gasUsed']) : null,
    isSuccess: receipt ? receipt['status'] === '0x1' : null,
    transfer: receipt ? firstTransfer(receipt['logs']) : null,
  };
}
