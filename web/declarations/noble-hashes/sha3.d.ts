export function keccak_256(message: Uint8Array): Uint8Array;
