// Signatures of secp256k1 with public-key recovery.

import { ecdsa, weierstrass } from '../vendor/noble-curves/abstract/weierstrass.js';
import { sha256 } from '../vendor/noble-hashes/sha2.js';
import { checksumAddress } from './address.js';
import { keccak } from './keccak.js';
import { ValueError, bytesToBigint, bytesToHex } from './values.js';

// Parameters from SEC 2, section 2.4.1.
const CURVE = ecdsa(
  weierstrass({
    p: 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn,
    n: 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n,
    h: 1n,
    a: 0n,
    b: 7n,
    Gx: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
    Gy: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
  }),
  sha256,
);

/**
 * Returns the address that signed the digest. Rejects a high s, and v other than 27 and 28.
 * @param {Uint8Array} digest 32 bytes
 * @param {Uint8Array} signature r, s and v, 65 bytes
 * @returns {string} the address with its checksum
 */
export function recoverAddress(digest, signature) {
  const recovery = /** @type {number} */ (signature[64]) - 27;
  if (signature.length !== 65 || (recovery !== 0 && recovery !== 1)) throw new ValueError('it is not a valid signature');
  try {
    const [r, s] = [signature.slice(0, 32), signature.slice(32, 64)].map(bytesToBigint);
    const parsed = new CURVE.Signature(/** @type {bigint} */ (r), /** @type {bigint} */ (s), recovery);
    if (parsed.hasHighS()) throw new ValueError('s is high');
    return addressOfKey(parsed.recoverPublicKey(digest).toBytes(false));
  } catch {
    throw new ValueError('it is not a valid signature');
  }
}

/**
 * Signs a digest with a private key, for wallets of tests and demonstrations.
 * @param {Uint8Array} digest 32 bytes
 * @param {Uint8Array} key 32 bytes
 * @returns {Uint8Array} r, s and v, 65 bytes
 */
export function signDigest(digest, key) {
  const signed = CURVE.sign(digest, key, { prehash: false, format: 'recovered' });
  const signature = new Uint8Array(65);
  signature.set(signed.slice(1));
  signature[64] = 27 + /** @type {number} */ (signed[0]);
  return signature;
}

/**
 * Returns the address of a private key.
 * @param {Uint8Array} key 32 bytes
 */
export const addressOf = (key) => addressOfKey(CURVE.getPublicKey(key, false));

/** @param {Uint8Array} publicKey 65 bytes */
function addressOfKey(publicKey) {
  return checksumAddress(bytesToHex(keccak(publicKey.slice(1)).slice(12)));
}
