export interface Hash {
  (message: Uint8Array): Uint8Array;
  outputLen: number;
}
export const sha256: Hash;
