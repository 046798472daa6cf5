// Types that refer to themselves, which JSDoc cannot declare.

/** Value of an ABI parameter: numbers are bigints, addresses and bytes hex text, arrays and tuples arrays. */
export type AbiValue = bigint | boolean | string | AbiValue[];

/** Item of RLP. */
export type RlpItem = Uint8Array | RlpItem[];
