// Values that people type into the fields of a contract form.

import { parseAddress } from '../address.js';
import { isData } from '../values.js';
import { AbiError, typeName } from './types.js';

/** @typedef {import('./types.js').AbiType} AbiType */
/** @typedef {import('./encode.js').AbiValue} AbiValue */

const INTEGER = /^[+-]?(\d[\d_]*|0x[\da-f]+)$/i;

/**
 * Parses the text of one field. Arrays and tuples are JSON lists; tuples may be objects with the names of their
 * fields. Large numbers may be written as text inside JSON.
 * @param {AbiType} type
 * @param {string} text
 * @returns {AbiValue}
 */
export function parseInput(type, text) {
  if (type.kind === 'string') return text;
  const trimmed = text.trim();
  if (type.kind !== 'array' && type.kind !== 'tuple') return parseScalar(type, trimmed);
  let json;
  try {
    // Digits beyond 2^53 would lose precision as JSON numbers.
    json = JSON.parse(trimmed.replace(/("(?:[^"\\]|\\.)*")|(-?\d{16,})/g, (_, quoted, digits) => quoted ?? `"${digits}"`));
  } catch {
    throw new AbiError(`${typeName(type)} must be a JSON list`);
  }
  return fromJson(type, json);
}

/** @param {AbiType} type @param {unknown} json @returns {AbiValue} */
function fromJson(type, json) {
  if (type.kind === 'array') {
    if (!Array.isArray(json)) throw new AbiError(`${typeName(type)} must be a list`);
    return json.map((item) => fromJson(type.item, item));
  }
  if (type.kind === 'tuple') {
    const items = Array.isArray(json) ? json : type.fields.map((field) => /** @type {any} */ (json)?.[field.name]);
    if (items.length !== type.fields.length) throw new AbiError(`${typeName(type)} must have ${type.fields.length} fields`);
    return type.fields.map((field, index) => fromJson(field.type, items[index]));
  }
  if (type.kind === 'string') {
    if (typeof json !== 'string') throw new AbiError('string must be text');
    return json;
  }
  if (!['string', 'number', 'boolean'].includes(typeof json)) throw new AbiError(`${typeName(type)} is missing`);
  return parseScalar(type, String(json));
}

/** @param {AbiType} type @param {string} text @returns {AbiValue} */
function parseScalar(type, text) {
  switch (type.kind) {
    case 'uint':
    case 'int': {
      if (!INTEGER.test(text)) throw new AbiError(`${typeName(type)} must be a whole number`);
      const isNegative = text.startsWith('-');
      const value = BigInt(text.replace(/^[+-]/, '').replaceAll('_', ''));
      return isNegative ? -value : value;
    }
    case 'address':
      try {
        return parseAddress(text);
      } catch (error) {
        throw new AbiError(error instanceof Error ? error.message : 'must be an address');
      }
    case 'bool':
      if (text !== 'true' && text !== 'false') throw new AbiError('bool must be true or false');
      return text === 'true';
    default:
      if (!isData(text)) throw new AbiError(`${typeName(type)} must be 0x and hex digits`);
      return text;
  }
}
