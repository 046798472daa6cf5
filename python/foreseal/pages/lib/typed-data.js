// Hashes of typed data (EIP-712).

import { encodeValues } from './abi/encode.js';
import { parseInput } from './abi/input.js';
import { AbiError, parseType } from './abi/types.js';
import { keccak } from './keccak.js';
import { concatBytes, hexToBytes } from './values.js';

/** @typedef {{name: string, type: string}} TypedField */
/**
 * @typedef {{types: Record<string, TypedField[]>, primaryType: string, domain: Record<string, unknown>,
 *   message: Record<string, unknown>}} TypedData
 */

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
];
const ARRAY = /^(.*)\[(\d*)\]$/s;

/**
 * Returns the digest that a wallet signs.
 * @param {TypedData} data
 */
export function typedDataDigest({ types, primaryType, domain, message }) {
  const domainFields = types['EIP712Domain'] ?? DOMAIN_FIELDS.filter(({ name }) => domain[name] !== undefined);
  const all = { ...types, EIP712Domain: domainFields };
  const separator = hashStruct(all, 'EIP712Domain', domain);
  return keccak(concatBytes(Uint8Array.of(0x19, 0x01), separator, hashStruct(all, primaryType, message)));
}

/**
 * Returns the type with those that it refers to, as it is hashed: `Mail(Person from,string text)Person(string name)`.
 * @param {Record<string, TypedField[]>} types
 * @param {string} name
 */
export function encodeType(types, name) {
  const referred = [...referredTypes(types, name, new Set())].filter((other) => other !== name).sort();
  /** @param {string} one */
  const written = (one) => fieldsOf(types, one).map((field) => `${field.type} ${field.name}`).join(',');
  return [name, ...referred].map((one) => `${one}(${written(one)})`).join('');
}

/** @param {Record<string, TypedField[]>} types @param {string} name */
function fieldsOf(types, name) {
  const fields = types[name];
  if (fields === undefined) throw new AbiError(`the type ${name} is not defined`);
  return fields;
}

/**
 * @param {Record<string, TypedField[]>} types
 * @param {string} name
 * @param {Set<string>} found
 * @returns {Set<string>}
 */
function referredTypes(types, name, found) {
  if (found.has(name)) return found;
  found.add(name);
  for (const field of fieldsOf(types, name)) {
    const base = field.type.replace(/(\[\d*\])+$/, '');
    if (types[base]) referredTypes(types, base, found);
  }
  return found;
}

/** @param {Record<string, TypedField[]>} types @param {string} name @param {any} value @returns {Uint8Array} */
function hashStruct(types, name, value) {
  const words = fieldsOf(types, name).map((field) => encodeField(types, field.type, value?.[field.name]));
  return keccak(concatBytes(keccak(encodeType(types, name)), ...words));
}

/**
 * Returns the word of a field.
 * @param {Record<string, TypedField[]>} types
 * @param {string} type
 * @param {any} value
 * @returns {Uint8Array}
 */
function encodeField(types, type, value) {
  if (value === undefined || value === null) throw new AbiError(`a value of type ${type} is missing`);
  const array = ARRAY.exec(type);
  if (array) {
    const [, item = '', length = ''] = array;
    if (!Array.isArray(value) || (length !== '' && value.length !== Number(length))) {
      throw new AbiError(`the value is not of type ${type}`);
    }
    return keccak(concatBytes(...value.map((one) => encodeField(types, item, one))));
  }
  if (types[type]) return hashStruct(types, type, value);
  if (type === 'string') return keccak(String(value));
  if (type === 'bytes') return keccak(hexToBytes(String(value)));
  const parsed = parseType(type);
  return encodeValues([{ name: '', type: parsed }], [parseInput(parsed, String(value))]);
}
