// ABI encoding of values.

import { bigintToBytes, concatBytes, hexToBytes, isAddress, isData } from '../values.js';
import { AbiError, headSize, isDynamic, typeName } from './types.js';

/** @typedef {import('./types.js').AbiType} AbiType */
/** @typedef {import('./types.js').Parameter} Parameter */
/**
 * Value of a parameter: numbers are bigints, addresses and bytes hex text, arrays and tuples arrays.
 * @typedef {import('../recursive-types.js').AbiValue} AbiValue
 */

const encoder = new TextEncoder();

/**
 * Encodes a list of values.
 * @param {readonly Parameter[]} parameters
 * @param {readonly AbiValue[]} values
 * @returns {Uint8Array}
 */
export function encodeValues(parameters, values) {
  if (parameters.length !== values.length) {
    throw new AbiError(`expected ${parameters.length} values, got ${values.length}`);
  }
  return encodeList(parameters.map((parameter) => parameter.type), values);
}

/** @param {readonly AbiType[]} types @param {readonly AbiValue[]} values */
function encodeList(types, values) {
  let tailOffset = types.reduce((size, type) => size + headSize(type), 0);
  /** @type {Uint8Array[]} */
  const heads = [];
  /** @type {Uint8Array[]} */
  const tails = [];
  types.forEach((type, index) => {
    const encoded = encodeValue(type, /** @type {AbiValue} */ (values[index]));
    if (!isDynamic(type)) {
      heads.push(encoded);
      return;
    }
    heads.push(bigintToBytes(BigInt(tailOffset), 32));
    tails.push(encoded);
    tailOffset += encoded.length;
  });
  return concatBytes(...heads, ...tails);
}

/** @param {AbiType} type @param {AbiValue} value @returns {Uint8Array} */
function encodeValue(type, value) {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return encodeInteger(type, value);
    case 'address':
      if (!isAddress(value)) throw mismatch(type);
      return bigintToBytes(BigInt(value), 32);
    case 'bool':
      if (typeof value !== 'boolean') throw mismatch(type);
      return bigintToBytes(value ? 1n : 0n, 32);
    case 'fixedBytes': {
      const bytes = dataOf(type, value);
      if (bytes.length !== type.size) throw new AbiError(`${typeName(type)} must have ${type.size} bytes`);
      return padded(bytes);
    }
    case 'bytes':
      return withLength(dataOf(type, value));
    case 'string':
      if (typeof value !== 'string') throw mismatch(type);
      return withLength(encoder.encode(value));
    case 'array':
      return encodeArray(type, value);
    case 'tuple':
      if (!Array.isArray(value)) throw mismatch(type);
      return encodeValues(type.fields, value);
  }
}

/** @param {AbiType & {kind: 'uint' | 'int'}} type @param {AbiValue} value */
function encodeInteger(type, value) {
  if (typeof value !== 'bigint') throw mismatch(type);
  const fits = type.kind === 'uint' ? BigInt.asUintN(type.bits, value) : BigInt.asIntN(type.bits, value);
  if (fits !== value) throw new AbiError(`${value} does not fit ${typeName(type)}`);
  return bigintToBytes(BigInt.asUintN(256, value), 32);
}

/** @param {AbiType & {kind: 'array'}} type @param {AbiValue} value */
function encodeArray(type, value) {
  if (!Array.isArray(value)) throw mismatch(type);
  if (type.length !== null && type.length !== value.length) {
    throw new AbiError(`${typeName(type)} must have ${type.length} items, got ${value.length}`);
  }
  const items = encodeList(value.map(() => type.item), value);
  return type.length === null ? concatBytes(bigintToBytes(BigInt(value.length), 32), items) : items;
}

/** @param {AbiType} type @param {AbiValue} value */
function dataOf(type, value) {
  if (!isData(value)) throw mismatch(type);
  return hexToBytes(value);
}

/** @param {Uint8Array} bytes */
const withLength = (bytes) => concatBytes(bigintToBytes(BigInt(bytes.length), 32), padded(bytes));

/** @param {Uint8Array} bytes */
function padded(bytes) {
  const words = new Uint8Array(Math.ceil(bytes.length / 32) * 32);
  words.set(bytes);
  return words;
}

/** @param {AbiType} type */
const mismatch = (type) => new AbiError(`the value is not of type ${typeName(type)}`);
