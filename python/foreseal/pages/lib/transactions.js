// Signing of fee-market transactions (EIP-1559), for wallets of tests and demonstrations.

import { keccak } from './keccak.js';
import { rlpEncode } from './rlp.js';
import { signDigest } from './secp256k1.js';
import { bigintToBytes, bytesToBigint, bytesToHex, concatBytes, hexToBytes } from './values.js';

/**
 * @typedef {{chainId: bigint, nonce: bigint, maxPriorityFeePerGas: bigint, maxFeePerGas: bigint, gas: bigint,
 *   to: string | null, value: bigint, data: string}} FeeMarketTransaction
 */

const TYPE = 2;

/** @param {bigint} value */
const number = (value) => (value === 0n ? new Uint8Array() : bigintToBytes(value, Math.ceil(value.toString(16).length / 2)));

/**
 * Returns the signed transaction in the encoding of EIP-2718.
 * @param {FeeMarketTransaction} transaction
 * @param {Uint8Array} key private key, 32 bytes
 */
export function signTransaction(transaction, key) {
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data } = transaction;
  const numbers = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas].map(number);
  const fields = [...numbers, to === null ? new Uint8Array() : hexToBytes(to), number(value), hexToBytes(data), []];
  const digest = keccak(concatBytes(Uint8Array.of(TYPE), rlpEncode(fields)));
  const signature = signDigest(digest, key);
  const parity = /** @type {number} */ (signature[64]) - 27;
  const [r, s] = [signature.slice(0, 32), signature.slice(32, 64)].map((part) => number(bytesToBigint(part)));
  const signed = [...fields, number(BigInt(parity)), /** @type {Uint8Array} */ (r), /** @type {Uint8Array} */ (s)];
  return bytesToHex(concatBytes(Uint8Array.of(TYPE), rlpEncode(signed)));
}
