// ABI types: parsing, canonical names, and the sizes of their heads.

/**
 * @typedef {{kind: 'uint' | 'int', bits: number} | {kind: 'address' | 'bool' | 'bytes' | 'string'} |
 *   {kind: 'fixedBytes', size: number} | {kind: 'array', item: AbiType, length: number | null} |
 *   {kind: 'tuple', fields: Parameter[]}} AbiType
 */
/** @typedef {{name: string, type: AbiType, indexed?: boolean, internalType?: string}} Parameter */
/**
 * @typedef {{name?: unknown, type?: unknown, components?: unknown, indexed?: unknown,
 *   internalType?: unknown}} JsonParameter
 */

/** Error for an ABI, a value or data that does not have the expected form. */
export class AbiError extends Error {
  /** @override */
  name = 'AbiError';
}

const MAX_DEPTH = 12;
const MAX_FIELDS = 256;
const MAX_LENGTH = 4096;
const ARRAY = /^(.*)\[(\d*)\]$/s;
const NUMBER = /^(u?int)(\d{0,3})$/;
const FIXED_BYTES = /^bytes(\d{1,2})$/;

/**
 * Parses a parameter in the JSON form of an ABI.
 * @param {unknown} json
 * @param {number} [depth]
 * @returns {Parameter}
 */
export function parseParameter(json, depth = 0) {
  if (json === null || typeof json !== 'object') throw new AbiError('a parameter must be an object');
  const { name = '', type, components, indexed, internalType } = /** @type {JsonParameter} */ (json);
  if (typeof type !== 'string') throw new AbiError('the type of a parameter must be text');
  /** @type {Parameter} */
  const parameter = { name: typeof name === 'string' ? name : '', type: parseType(type, components, depth) };
  if (indexed === true) parameter.indexed = true;
  if (typeof internalType === 'string') parameter.internalType = internalType;
  return parameter;
}

/**
 * Parses the name of a type. Tuples need their components.
 * @param {string} text
 * @param {unknown} [components]
 * @param {number} [depth]
 * @returns {AbiType}
 */
export function parseType(text, components, depth = 0) {
  if (depth > MAX_DEPTH) throw new AbiError('the type is nested too deeply');
  const array = ARRAY.exec(text);
  if (array) {
    const [, item = '', size = ''] = array;
    const length = size === '' ? null : Number(size);
    if (length !== null && (length < 1 || length > MAX_LENGTH)) throw new AbiError(`the length of ${text} is invalid`);
    return { kind: 'array', item: parseType(item, components, depth + 1), length };
  }
  if (text === 'tuple') {
    if (!Array.isArray(components) || components.length === 0 || components.length > MAX_FIELDS) {
      throw new AbiError('a tuple must have components');
    }
    return { kind: 'tuple', fields: components.map((field) => parseParameter(field, depth + 1)) };
  }
  return parseElementary(text);
}

/** @param {string} text @returns {AbiType} */
function parseElementary(text) {
  if (text === 'address' || text === 'bool' || text === 'bytes' || text === 'string') return { kind: text };
  if (text === 'function') return { kind: 'fixedBytes', size: 24 };
  const number = NUMBER.exec(text);
  if (number) {
    const bits = number[2] === '' ? 256 : Number(number[2]);
    if (bits >= 8 && bits <= 256 && bits % 8 === 0) return { kind: number[1] === 'int' ? 'int' : 'uint', bits };
  }
  const size = Number(FIXED_BYTES.exec(text)?.[1] ?? 0);
  if (size >= 1 && size <= 32) return { kind: 'fixedBytes', size };
  throw new AbiError(`the type ${text.slice(0, 40)} is not supported`);
}

/**
 * Returns the canonical name, as in a signature.
 * @param {AbiType} type
 * @returns {string}
 */
export function typeName(type) {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return `${type.kind}${type.bits}`;
    case 'fixedBytes':
      return `bytes${type.size}`;
    case 'array':
      return `${typeName(type.item)}[${type.length ?? ''}]`;
    case 'tuple':
      return `(${type.fields.map((field) => typeName(field.type)).join(',')})`;
    default:
      return type.kind;
  }
}

/**
 * Returns true if the encoding of a value has a variable size.
 * @param {AbiType} type
 * @returns {boolean}
 */
export function isDynamic(type) {
  switch (type.kind) {
    case 'bytes':
    case 'string':
      return true;
    case 'array':
      return type.length === null || isDynamic(type.item);
    case 'tuple':
      return type.fields.some((field) => isDynamic(field.type));
    default:
      return false;
  }
}

/**
 * Returns the number of bytes that a value occupies in the head of its list.
 * @param {AbiType} type
 * @returns {number}
 */
export function headSize(type) {
  if (isDynamic(type)) return 32;
  if (type.kind === 'array') return /** @type {number} */ (type.length) * headSize(type.item);
  if (type.kind === 'tuple') return type.fields.reduce((size, field) => size + headSize(field.type), 0);
  return 32;
}
