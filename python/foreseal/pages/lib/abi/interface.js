// An interface: the functions, events and errors of an ABI, by selector and topic.

import { keccakHex } from '../keccak.js';
import { bytesToHex, concatBytes, hexToBytes } from '../values.js';
import { decodeValues } from './decode.js';
import { encodeValues } from './encode.js';
import { parseAbi, parseSignatures, signatureOf } from './fragments.js';
import { AbiError, isDynamic } from './types.js';

/** @typedef {import('./fragments.js').Fragment} Fragment */
/** @typedef {import('./types.js').Parameter} Parameter */
/** @typedef {import('./encode.js').AbiValue} AbiValue */
/** @typedef {{parameter: Parameter, value: AbiValue, isHashed?: boolean}} Argument */
/** @typedef {{fragment: Fragment, arguments: Argument[]}} Decoded */
/** @typedef {{topics: string[], data: string}} RawLog */

/** Errors that every contract may return (Solidity's built-in ones). */
const BUILT_IN_ERRORS = parseSignatures(['error Error(string message)', 'error Panic(uint256 code)']);

/**
 * Returns the first four bytes of the hash of a signature, as hex.
 * @param {Fragment} fragment
 */
export const selectorOf = (fragment) => keccakHex(signatureOf(fragment)).slice(0, 10);

/**
 * Returns the first topic of an event's logs.
 * @param {Fragment} fragment
 */
export const topicOf = (fragment) => keccakHex(signatureOf(fragment));

/** Index over the fragments of an ABI. */
export class Interface {
  /** @type {Map<string, Fragment>} */
  #functions = new Map();
  /** @type {Map<string, Fragment>} */
  #errors = new Map();
  /**
   * Events by topic. Two events may differ only in their indexed parameters (ERC-20 and ERC-721 transfers).
   * @type {Map<string, Fragment[]>}
   */
  #events = new Map();

  /** @param {readonly Fragment[]} fragments */
  constructor(fragments) {
    this.fragments = fragments;
    for (const fragment of [...BUILT_IN_ERRORS, ...fragments]) {
      if (fragment.kind === 'function') this.#functions.set(selectorOf(fragment), fragment);
      else if (fragment.kind === 'error') this.#errors.set(selectorOf(fragment), fragment);
      else if (fragment.kind === 'event' && !fragment.anonymous) {
        const topic = topicOf(fragment);
        this.#events.set(topic, [...(this.#events.get(topic) ?? []), fragment]);
      }
    }
  }

  /** Parses JSON or signatures. @param {string} text */
  static parse(text) {
    return new Interface(parseAbi(text));
  }

  /** @param {readonly string[]} signatures */
  static fromSignatures(signatures) {
    return new Interface(parseSignatures(signatures));
  }

  get functions() {
    return [...this.#functions.values()];
  }

  get events() {
    return [...this.#events.values()].flat();
  }

  get selectors() {
    return [...this.#functions.keys()];
  }

  /**
   * Returns the function and arguments of a call, or null if the interface has no such function or the data does not
   * fit it.
   * @param {string} data
   * @returns {Decoded | null}
   */
  decodeCall(data) {
    const fragment = this.#functions.get(data.slice(0, 10).toLowerCase());
    return fragment ? attempt(() => decoded(fragment, fragment.inputs, tailOf(data))) : null;
  }

  /**
   * Returns the values that a function returned.
   * @param {Fragment} fragment
   * @param {string} data
   * @returns {Argument[]}
   */
  decodeResult(fragment, data) {
    return decoded(fragment, fragment.outputs, hexToBytes(data)).arguments;
  }

  /**
   * Returns the error that a reverted call returned.
   * @param {string} data
   * @returns {Decoded | null}
   */
  decodeError(data) {
    const fragment = this.#errors.get(data.slice(0, 10).toLowerCase());
    return fragment ? attempt(() => decoded(fragment, fragment.inputs, tailOf(data))) : null;
  }

  /**
   * Returns the event and arguments of a log.
   * @param {RawLog} log
   * @returns {Decoded | null}
   */
  decodeLog(log) {
    const candidates = this.#events.get(log.topics[0]?.toLowerCase() ?? '') ?? [];
    for (const fragment of candidates) {
      const found = attempt(() => decodedLog(fragment, log));
      if (found) return found;
    }
    return null;
  }
}

/**
 * Returns the data of a call.
 * @param {Fragment} fragment
 * @param {readonly AbiValue[]} values
 */
export function encodeCall(fragment, values) {
  return bytesToHex(concatBytes(hexToBytes(selectorOf(fragment)), encodeValues(fragment.inputs, values)));
}

/** @param {string} data */
const tailOf = (data) => hexToBytes(`0x${data.slice(10)}`);

/** @param {Fragment} fragment @param {Parameter[]} parameters @param {Uint8Array} data @returns {Decoded} */
function decoded(fragment, parameters, data) {
  const values = decodeValues(parameters, data);
  return {
    fragment,
    arguments: parameters.map((parameter, index) => ({ parameter, value: /** @type {AbiValue} */ (values[index]) })),
  };
}

/** @param {Fragment} fragment @param {RawLog} log @returns {Decoded} */
function decodedLog(fragment, { topics, data }) {
  const indexed = fragment.inputs.filter((input) => input.indexed);
  if (indexed.length !== topics.length - 1) throw new AbiError('the log has another number of topics');
  const plain = fragment.inputs.filter((input) => !input.indexed);
  const values = decodeValues(plain, hexToBytes(data));
  let [nextTopic, nextValue] = [1, 0];
  const found = fragment.inputs.map((parameter) => {
    if (!parameter.indexed) {
      const value = /** @type {AbiValue} */ (values[nextValue]);
      nextValue += 1;
      return { parameter, value };
    }
    const topic = /** @type {string} */ (topics[nextTopic]);
    nextTopic += 1;
    return indexedArgument(parameter, topic);
  });
  return { fragment, arguments: found };
}

/** A topic holds only the hash of a value that has no fixed size. @param {Parameter} parameter @param {string} topic */
function indexedArgument(parameter, topic) {
  const { kind } = parameter.type;
  if (isDynamic(parameter.type) || kind === 'array' || kind === 'tuple') {
    return { parameter, value: topic, isHashed: true };
  }
  const [value] = decodeValues([parameter], hexToBytes(topic));
  return { parameter, value: /** @type {AbiValue} */ (value) };
}

/** @template T @param {() => T} decode @returns {T | null} */
function attempt(decode) {
  try {
    return decode();
  } catch {
    return null;
  }
}
