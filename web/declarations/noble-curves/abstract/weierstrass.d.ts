import type { Hash } from '../../noble-hashes/sha2.js';

export interface Point {
  toBytes(compressed?: boolean): Uint8Array;
}
export interface Signature {
  r: bigint;
  s: bigint;
  hasHighS(): boolean;
  recoverPublicKey(digest: Uint8Array): Point;
}
export interface Curve {
  sign(digest: Uint8Array, key: Uint8Array, options: { prehash: boolean; format: 'recovered' }): Uint8Array;
  getPublicKey(key: Uint8Array, compressed: boolean): Uint8Array;
  Signature: new (r: bigint, s: bigint, recovery: number) => Signature;
}
export function weierstrass(parameters: Record<'p' | 'n' | 'h' | 'a' | 'b' | 'Gx' | 'Gy', bigint>): object;
export function ecdsa(point: object, hash: Hash): Curve;
