// Keccak-256.

import { keccak_256 } from '../vendor/noble-hashes/sha3.js';
import { bytesToHex } from './values.js';

const encoder = new TextEncoder();

/**
 * Returns the hash of the bytes, or of the UTF-8 encoding of a text.
 * @param {Uint8Array | string} input
 * @returns {Uint8Array}
 */
export function keccak(input) {
  return keccak_256(typeof input === 'string' ? encoder.encode(input) : input);
}

/**
 * Returns the hash as hex with the prefix 0x.
 * @param {Uint8Array | string} input
 */
export function keccakHex(input) {
  return bytesToHex(keccak(input));
}
