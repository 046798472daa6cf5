// RLP, canonical encodings only.

import { ValueError, bigintToBytes, concatBytes } from './values.js';

/** @typedef {import('./recursive-types.js').RlpItem} RlpItem */

/**
 * Encodes a string of bytes, or a list.
 * @param {RlpItem} item
 * @returns {Uint8Array}
 */
export function rlpEncode(item) {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && /** @type {number} */ (item[0]) < 0x80) return item;
    return concatBytes(prefix(0x80, item.length), item);
  }
  const payload = concatBytes(...item.map(rlpEncode));
  return concatBytes(prefix(0xc0, payload.length), payload);
}

/**
 * Encodes a number that is not negative.
 * @param {bigint | number} value
 */
export function rlpEncodeNumber(value) {
  return rlpEncode(minimalBytes(BigInt(value)));
}

/** @param {bigint} value */
function minimalBytes(value) {
  return value === 0n ? new Uint8Array() : bigintToBytes(value, Math.ceil(value.toString(16).length / 2));
}

/** @param {number} offset @param {number} length */
function prefix(offset, length) {
  if (length < 56) return Uint8Array.of(offset + length);
  const size = minimalBytes(BigInt(length));
  return concatBytes(Uint8Array.of(offset + 55 + size.length), size);
}

/**
 * Decodes one item that fills the input.
 * @param {Uint8Array} bytes
 * @returns {RlpItem}
 */
export function rlpDecode(bytes) {
  const { item, end } = decodeAt(bytes, 0, 0);
  if (end !== bytes.length) throw new ValueError('bytes follow the RLP item');
  return item;
}

const MAX_DEPTH = 64;

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} depth
 * @returns {{item: RlpItem, end: number}}
 */
function decodeAt(bytes, start, depth) {
  if (depth > MAX_DEPTH) throw new ValueError('RLP is nested too deeply');
  const first = bytes[start];
  if (first === undefined) throw new ValueError('RLP ends too early');
  if (first < 0x80) return { item: bytes.slice(start, start + 1), end: start + 1 };
  const isList = first >= 0xc0;
  const { from, end } = payload(bytes, start, first - (isList ? 0xc0 : 0x80));
  if (!isList) {
    const item = bytes.slice(from, end);
    if (item.length === 1 && /** @type {number} */ (item[0]) < 0x80) throw new ValueError('RLP is not canonical');
    return { item, end };
  }
  const items = [];
  let next = from;
  while (next < end) {
    const decoded = decodeAt(bytes, next, depth + 1);
    items.push(decoded.item);
    next = decoded.end;
  }
  if (next !== end) throw new ValueError('an RLP list item exceeds its list');
  return { item: items, end };
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} kind length if below 56, otherwise 55 and the number of bytes of the length
 */
function payload(bytes, start, kind) {
  let from = start + 1;
  let length = kind;
  if (kind > 55) {
    const size = kind - 55;
    const digits = bytes.slice(from, from + size);
    if (digits.length < size || digits[0] === 0 || size > 6) throw new ValueError('RLP length is invalid');
    length = digits.reduce((value, byte) => value * 256 + byte, 0);
    if (length < 56) throw new ValueError('RLP is not canonical');
    from += size;
  }
  if (from + length > bytes.length) throw new ValueError('RLP ends too early');
  return { from, end: from + length };
}
