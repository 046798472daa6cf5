// ABI decoding. The data comes from the chain and may be crafted: every read is bounded.

import { checksumAddress } from '../address.js';
import { bytesToBigint, bytesToHex } from '../values.js';
import { AbiError, headSize, isDynamic } from './types.js';

/** @typedef {import('./types.js').AbiType} AbiType */
/** @typedef {import('./types.js').Parameter} Parameter */
/** @typedef {import('./encode.js').AbiValue} AbiValue */

const MAX_VALUES = 20_000;
const decoder = new TextDecoder();

/**
 * Decodes a list of values.
 * @param {readonly Parameter[]} parameters
 * @param {Uint8Array} data
 * @returns {AbiValue[]}
 */
export function decodeValues(parameters, data) {
  return new Decoder(data).list(parameters.map((parameter) => parameter.type), 0);
}

/** Reader of one encoded list. Crafted offsets may overlap, so it limits the number of values. */
class Decoder {
  #data;
  #values = 0;

  /** @param {Uint8Array} data */
  constructor(data) {
    this.#data = data;
  }

  /**
   * @param {readonly AbiType[]} types
   * @param {number} start offset of the list, to which the offsets of dynamic values are relative
   * @returns {AbiValue[]}
   */
  list(types, start) {
    let head = start;
    return types.map((type) => {
      const at = isDynamic(type) ? start + this.#size(head) : head;
      head += headSize(type);
      return this.#value(type, at);
    });
  }

  /** @param {AbiType} type @param {number} at @returns {AbiValue} */
  #value(type, at) {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new AbiError(`the data has more than ${MAX_VALUES} values`);
    switch (type.kind) {
      case 'uint':
        return this.#uint(at, type.bits);
      case 'int':
        return this.#int(at, type.bits);
      case 'address':
        return checksumAddress(`0x${this.#uint(at, 160).toString(16).padStart(40, '0')}`);
      case 'bool':
        return this.#uint(at, 1) === 1n;
      case 'fixedBytes':
        return bytesToHex(this.#bytes(at, 32).slice(0, type.size));
      case 'bytes':
        return bytesToHex(this.#bytes(at + 32, this.#size(at)));
      case 'string':
        return decoder.decode(this.#bytes(at + 32, this.#size(at)));
      case 'array':
        return this.#array(type, at);
      case 'tuple':
        return this.list(type.fields.map((field) => field.type), at);
    }
  }

  /** @param {AbiType & {kind: 'array'}} type @param {number} at */
  #array(type, at) {
    const start = type.length === null ? at + 32 : at;
    const length = type.length ?? this.#size(at);
    if (length * headSize(type.item) > this.#data.length - start) throw new AbiError('an array exceeds the data');
    if (length > MAX_VALUES) throw new AbiError(`an array has more than ${MAX_VALUES} items`);
    return this.list(new Array(length).fill(type.item), start);
  }

  /** @param {number} at @param {number} bits */
  #uint(at, bits) {
    const value = bytesToBigint(this.#bytes(at, 32));
    if (value >> BigInt(bits) !== 0n) throw new AbiError('a value does not fit its type');
    return value;
  }

  /** @param {number} at @param {number} bits */
  #int(at, bits) {
    const value = BigInt.asIntN(256, bytesToBigint(this.#bytes(at, 32)));
    if (BigInt.asIntN(bits, value) !== value) throw new AbiError('a value does not fit its type');
    return value;
  }

  /** Reads a length or an offset. @param {number} at */
  #size(at) {
    const value = bytesToBigint(this.#bytes(at, 32));
    if (value > BigInt(this.#data.length)) throw new AbiError('a length or an offset exceeds the data');
    return Number(value);
  }

  /** @param {number} at @param {number} size */
  #bytes(at, size) {
    if (at + size > this.#data.length) throw new AbiError('the data ends too early');
    return this.#data.subarray(at, at + size);
  }
}
