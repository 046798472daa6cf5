// ABI fragments in their two written forms: JSON, and signatures for people such as
// `event Transfer(address indexed from, address indexed to, uint256 value)`.

import { AbiError, parseParameter, typeName } from './types.js';

/** @typedef {import('./types.js').Parameter} Parameter */
/** @typedef {import('./types.js').JsonParameter} JsonParameter */
/**
 * @typedef {{kind: 'function' | 'event' | 'error' | 'constructor', name: string, inputs: Parameter[],
 *   outputs: Parameter[], mutability: 'pure' | 'view' | 'nonpayable' | 'payable', anonymous: boolean}} Fragment
 */

const MAX_FRAGMENTS = 2000;
const MAX_ABI_LENGTH = 2_000_000;
const KINDS = /** @type {const} */ (['function', 'event', 'error', 'constructor']);
const MUTABILITIES = /** @type {const} */ (['pure', 'view', 'nonpayable', 'payable']);
const NAME = /^[A-Za-z_$][\w$]*$/;

/**
 * Parses an ABI: JSON (a list, or an artifact with the member `abi`), or one signature a line.
 * @param {string} text
 * @returns {Fragment[]}
 */
export function parseAbi(text) {
  const trimmed = text.trim();
  if (trimmed === '') throw new AbiError('the ABI is empty');
  if (trimmed.length > MAX_ABI_LENGTH) throw new AbiError('the ABI is too large');
  if (!/^[[{]/.test(trimmed)) return parseSignatures(trimmed.split(/\r?\n|;/));
  let json;
  try {
    json = JSON.parse(trimmed);
  } catch {
    throw new AbiError('the ABI is not valid JSON');
  }
  const list = Array.isArray(json) ? json : json.abi;
  if (!Array.isArray(list)) throw new AbiError('the ABI must be a list, or an object with the member abi');
  if (list.length > MAX_FRAGMENTS) throw new AbiError('the ABI is too large');
  if (list.every((entry) => typeof entry === 'string')) return parseSignatures(list);
  return list.flatMap(parseFragment);
}

/**
 * @param {unknown} entry
 * @returns {Fragment[]} nothing for `fallback` and `receive`
 */
function parseFragment(entry) {
  if (entry === null || typeof entry !== 'object') throw new AbiError('an entry of the ABI must be an object');
  const json = /** @type {Record<string, unknown>} */ (entry);
  const kind = KINDS.find((one) => one === (json['type'] ?? 'function'));
  if (kind === undefined) return [];
  const name = kind === 'constructor' ? '' : json['name'];
  if (typeof name !== 'string' || (kind !== 'constructor' && !NAME.test(name))) {
    throw new AbiError('an entry of the ABI has no valid name');
  }
  const mutability = MUTABILITIES.find((one) => one === json['stateMutability']) ?? 'nonpayable';
  const anonymous = json['anonymous'] === true;
  return [{ kind, name, inputs: list(json['inputs']), outputs: list(json['outputs']), mutability, anonymous }];
}

/** @param {unknown} json */
const list = (json) => (Array.isArray(json) ? json : []).map((one) => parseParameter(one));

/**
 * Parses signatures for people. Empty lines and comments are ignored.
 * @param {readonly string[]} lines
 * @returns {Fragment[]}
 */
export function parseSignatures(lines) {
  const written = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('//'));
  if (written.length > MAX_FRAGMENTS) throw new AbiError('the ABI is too large');
  return written.map((line) => new SignatureParser(line).fragment());
}

/** Recursive-descent parser of one signature. */
class SignatureParser {
  #tokens;
  #next = 0;
  #line;

  /** @param {string} line */
  constructor(line) {
    this.#line = line;
    this.#tokens = line.match(/[\w$]+|\[\d*\]|[(),]|\S/g) ?? [];
  }

  /** @returns {Fragment} */
  fragment() {
    const kind = KINDS.find((one) => one === this.#tokens[0]);
    if (kind !== undefined) this.#next = 1;
    const name = kind === 'constructor' ? '' : this.#consume();
    if (kind !== 'constructor' && !NAME.test(name)) throw this.#invalid();
    const inputs = this.#parameters();
    /** @type {Fragment} */
    const fragment = { kind: kind ?? 'function', name, inputs, outputs: [], mutability: 'nonpayable', anonymous: false };
    while (this.#next < this.#tokens.length) {
      const token = this.#consume();
      const mutability = MUTABILITIES.find((one) => one === token);
      if (mutability !== undefined) fragment.mutability = mutability;
      else if (token === 'returns') fragment.outputs = this.#parameters();
      else if (token === 'anonymous') fragment.anonymous = true;
      else if (!['external', 'public', 'virtual', 'override'].includes(token)) throw this.#invalid();
    }
    return fragment;
  }

  #parameters() {
    /** @type {Parameter[]} */
    return this.#components().map((one) => parseParameter(one));
  }

  /** @returns {JsonParameter[]} */
  #components() {
    if (this.#consume() !== '(') throw this.#invalid();
    /** @type {JsonParameter[]} */
    const found = [];
    if (this.#tokens[this.#next] === ')') {
      this.#next += 1;
      return found;
    }
    for (;;) {
      found.push(this.#parameter());
      const token = this.#consume();
      if (token === ')') return found;
      if (token !== ',') throw this.#invalid();
    }
  }

  /** @returns {JsonParameter} */
  #parameter() {
    if (this.#tokens[this.#next] === 'tuple') this.#next += 1;
    const isTuple = this.#tokens[this.#next] === '(';
    const components = isTuple ? this.#components() : undefined;
    let type = isTuple ? 'tuple' : this.#consume();
    while (this.#tokens[this.#next]?.startsWith('[')) type += this.#consume();
    /** @type {JsonParameter} */
    const parameter = { type, components, name: '' };
    for (;;) {
      const token = this.#tokens[this.#next];
      if (token === undefined || token === ',' || token === ')') return parameter;
      this.#next += 1;
      if (token === 'indexed') parameter.indexed = true;
      else if (!['memory', 'calldata', 'storage', 'payable'].includes(token)) parameter.name = token;
    }
  }

  #consume() {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw this.#invalid();
    this.#next += 1;
    return token;
  }

  #invalid() {
    return new AbiError(`not a signature: ${this.#line.slice(0, 80)}`);
  }
}

/**
 * Returns the canonical signature: name and types without spaces.
 * @param {Fragment} fragment
 */
export const signatureOf = ({ name, inputs }) => `${name}(${inputs.map((input) => typeName(input.type)).join(',')})`;
