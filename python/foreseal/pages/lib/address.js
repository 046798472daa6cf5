// Addresses with the checksum of EIP-55.

import { keccak } from './keccak.js';
import { ValueError, bytesToHex, isAddress } from './values.js';

/** @type {Map<string, string>} */
const cache = new Map();
const MAX_CACHED = 2000;

/**
 * Returns the address with the checksum of EIP-55.
 * @param {string} address
 */
export function checksumAddress(address) {
  const lower = address.toLowerCase();
  const cached = cache.get(lower);
  if (cached !== undefined) return cached;
  if (!isAddress(lower)) throw new ValueError('must be an address: 0x and 40 hex digits');
  const digits = lower.slice(2);
  const hash = bytesToHex(keccak(digits)).slice(2);
  const mixed = Array.from(digits, (digit, index) =>
    Number.parseInt(hash.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit);
  const checksummed = `0x${mixed.join('')}`;
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(lower, checksummed);
  return checksummed;
}

/**
 * Parses an address. Mixed case must match the checksum.
 * @param {string} text
 * @returns {string} the address with its checksum
 */
export function parseAddress(text) {
  const trimmed = text.trim();
  const address = checksumAddress(trimmed);
  const digits = trimmed.slice(2);
  const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  if (mixed && address.slice(2) !== digits) throw new ValueError('the checksum of the address does not match');
  return address;
}

/** @param {string} one @param {string} other */
export const isSameAddress = (one, other) => one.toLowerCase() === other.toLowerCase();
