// Offline verification of a pre-confirmation receipt.
//
//   transaction --proof--> header.transactionsRoot --keccak--> hash --EIP-712--> signature --> signer

import { parseAddress } from './address.js';
import { keccak } from './keccak.js';
import { rlpDecode, rlpEncodeNumber } from './rlp.js';
import { recoverAddress } from './secp256k1.js';
import { verifyProof } from './trie.js';
import {
  ValueError, bigintToBytes, bytesToBigint, bytesToHex, concatBytes, equalBytes, hexToBytes, parseQuantity,
} from './values.js';

/**
 * Receipt in the form that `foreseal_preconfirmation` returns.
 * @typedef {Record<'chainId' | 'transactionHash' | 'transactionIndex' | 'transaction' | 'blockNumber' |
 *   'flashblockIndex' | 'hash' | 'header' | 'previous' | 'time' | 'signature' | 'signer', string> &
 *   {proof: string[]}} PreconfirmationReceipt
 */
/**
 * Commitment of a receipt: the signer committed to including the transaction at this position of the block.
 * @typedef {{chainId: bigint, number: bigint, index: bigint, hash: string, previous: string, time: bigint,
 *   timestamp: bigint, transactionHash: string, transactionIndex: bigint, signer: string}} Preconfirmation
 */
/** @typedef {ReturnType<typeof parse>} ParsedReceipt */

/** Error for an invalid receipt. It names the field that does not match. */
export class ReceiptError extends Error {
  /** @override */
  name = 'ReceiptError';

  /** @param {string} field @param {string} reason */
  constructor(field, reason) {
    super(`${field}: ${reason}`);
    this.field = field;
    this.reason = reason;
  }
}

const MAX_QUANTITY = 1n << 64n;
// Positions of fields in the RLP list of a header.
const HEADER = { parentHash: 0, transactionsRoot: 4, number: 8, timestamp: 11 };
const MIN_HEADER_FIELDS = 15;

/** @param {unknown} input */
function parse(input) {
  if (input === null || typeof input !== 'object') throw new ReceiptError('receipt', 'must be a JSON object');
  const fields = /** @type {Record<string, unknown>} */ (input);
  /** @param {string} name */
  const quantity = (name) => read(name, () => {
    const value = parseQuantity(fields[name]);
    if (value >= MAX_QUANTITY) throw new ValueError('must be below 2^64');
    return value;
  });
  /** @param {string} name @param {number} [size] */
  const data = (name, size) => read(name, () => bytesOf(fields[name], size));
  const { proof } = fields;
  if (!Array.isArray(proof)) throw new ReceiptError('receipt', 'proof must be a list');
  return {
    chainId: quantity('chainId'),
    transactionHash: data('transactionHash', 32),
    transactionIndex: quantity('transactionIndex'),
    transaction: data('transaction'),
    number: quantity('blockNumber'),
    index: quantity('flashblockIndex'),
    hash: data('hash', 32),
    header: data('header'),
    previous: data('previous', 32),
    time: quantity('time'),
    signature: data('signature', 65),
    signer: data('signer', 20),
    proof: proof.map((node) => read('proof', () => bytesOf(node))),
  };
}

/** @template T @param {string} field @param {() => T} parseField @returns {T} */
function read(field, parseField) {
  try {
    return parseField();
  } catch (error) {
    if (error instanceof ReceiptError) throw error;
    throw new ReceiptError(field, error instanceof Error ? error.message : String(error));
  }
}

/** @param {unknown} text @param {number} [size] */
function bytesOf(text, size) {
  if (typeof text !== 'string') throw new ValueError('must be hex text');
  const bytes = hexToBytes(text);
  if (size !== undefined && bytes.length !== size) throw new ValueError(`must have ${size} bytes, got ${bytes.length}`);
  return bytes;
}

/**
 * Verifies a receipt. Without an expected signer, the result only identifies the account that signed: anyone can
 * create a consistent receipt.
 * @param {unknown} input receipt as `foreseal_preconfirmation` returns it
 * @param {{signer?: string | undefined, chainId?: bigint | undefined}} [expected]
 * @returns {Preconfirmation}
 */
export function verifyPreconfirmation(input, { signer, chainId } = {}) {
  const receipt = parse(input);
  if (chainId !== undefined && chainId !== receipt.chainId) {
    throw new ReceiptError('chainId', `it is ${receipt.chainId}, not ${chainId}`);
  }
  const header = checkHeader(receipt);
  checkTransaction(receipt, header.transactionsRoot);
  const recovered = checkSignature(receipt);
  if (signer !== undefined && parseAddress(signer) !== recovered) {
    throw new ReceiptError('signer', `${recovered} has signed, not ${parseAddress(signer)}`);
  }
  return {
    chainId: receipt.chainId,
    number: receipt.number,
    index: receipt.index,
    hash: bytesToHex(receipt.hash),
    previous: bytesToHex(receipt.previous),
    time: receipt.time,
    timestamp: header.timestamp,
    transactionHash: bytesToHex(receipt.transactionHash),
    transactionIndex: receipt.transactionIndex,
    signer: recovered,
  };
}

/**
 * Checks that the header has the hash and the number of the step.
 * @param {ParsedReceipt} receipt
 */
function checkHeader(receipt) {
  const hash = keccak(receipt.header);
  if (!equalBytes(hash, receipt.hash)) throw new ReceiptError('header', `its hash is ${bytesToHex(hash)}`);
  const fields = read('header', () => rlpDecode(receipt.header));
  if (!Array.isArray(fields) || fields.length < MIN_HEADER_FIELDS) throw new ReceiptError('header', 'it is not a header');
  /** @param {keyof typeof HEADER} name */
  const field = (name) => {
    const value = fields[HEADER[name]];
    if (!(value instanceof Uint8Array)) throw new ReceiptError('header', 'it is not a header');
    return value;
  };
  const number = bytesToBigint(field('number'));
  if (number !== receipt.number) throw new ReceiptError('blockNumber', `the header is of block ${number}`);
  if (receipt.index === 0n && !equalBytes(field('parentHash'), receipt.previous)) {
    throw new ReceiptError('previous', `the first step follows block ${bytesToHex(field('parentHash'))}`);
  }
  return { transactionsRoot: field('transactionsRoot'), timestamp: bytesToBigint(field('timestamp')) };
}

/**
 * Checks that the header includes the transaction at its index.
 * @param {ParsedReceipt} receipt
 * @param {Uint8Array} root
 */
function checkTransaction(receipt, root) {
  const hash = keccak(receipt.transaction);
  if (!equalBytes(hash, receipt.transactionHash)) throw new ReceiptError('transaction', `its hash is ${bytesToHex(hash)}`);
  const other = read('transaction', () => chainIdOf(receipt.transaction));
  if (other !== null && other !== receipt.chainId) throw new ReceiptError('transaction', `it has chain id ${other}`);
  const found = read('proof', () => verifyProof(root, rlpEncodeNumber(receipt.transactionIndex), receipt.proof));
  if (found === null) throw new ReceiptError('proof', 'the proof has no transaction at this index');
  if (!equalBytes(found, receipt.transaction)) {
    throw new ReceiptError('proof', 'it proves another transaction at this index');
  }
}

/**
 * Returns the chain id inside a transaction, or null if it has none (EIP-2718 types without one, and legacy
 * transactions without EIP-155).
 * @param {Uint8Array} transaction
 */
function chainIdOf(transaction) {
  const isLegacy = /** @type {number} */ (transaction[0]) >= 0xc0;
  const type = isLegacy ? 0 : transaction[0];
  const fields = rlpDecode(isLegacy ? transaction : transaction.slice(1));
  if (!Array.isArray(fields)) throw new ValueError('it is not a transaction');
  const field = fields[isLegacy ? 6 : 0];
  if (!(field instanceof Uint8Array)) throw new ValueError('it is not a transaction');
  if (!isLegacy) return type !== undefined && type >= 1 && type <= 4 ? bytesToBigint(field) : null;
  const v = bytesToBigint(field);
  return v >= 35n ? (v - 35n) / 2n : null;
}

/** @param {ParsedReceipt} receipt */
function checkSignature(receipt) {
  const digest = stepDigest(receipt);
  const recovered = read('signature', () => recoverAddress(digest, receipt.signature));
  const claimed = bytesToHex(receipt.signer);
  if (recovered.toLowerCase() !== claimed) {
    throw new ReceiptError('signature', `it is not that of ${parseAddress(claimed)} but of ${recovered}`);
  }
  return recovered;
}

const DOMAIN_TYPE = keccak('EIP712Domain(string name,string version,uint256 chainId)');
const STEP_TYPE = keccak('Flashblock(uint64 number,uint64 index,bytes32 hash,bytes32 previous,uint64 time)');

/**
 * Returns the EIP-712 digest that the sequencer signs for a step.
 * @param {{chainId: bigint, number: bigint, index: bigint, hash: Uint8Array, previous: Uint8Array, time: bigint}} step
 */
export function stepDigest({ chainId, number, index, hash, previous, time }) {
  /** @param {bigint} value */
  const word = (value) => bigintToBytes(value, 32);
  const domain = keccak(concatBytes(DOMAIN_TYPE, keccak('Foreseal'), keccak('1'), word(chainId)));
  const message = keccak(concatBytes(STEP_TYPE, word(number), word(index), hash, previous, word(time)));
  return keccak(concatBytes(Uint8Array.of(0x19, 0x01), domain, message));
}
