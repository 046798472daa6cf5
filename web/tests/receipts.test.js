import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { keccak } from '../lib/keccak.js';
import { ReceiptError, stepDigest, verifyPreconfirmation } from '../lib/receipts.js';
import { rlpDecode, rlpEncode, rlpEncodeNumber } from '../lib/rlp.js';
import { addressOf, recoverAddress, signDigest } from '../lib/secp256k1.js';
import { verifyProof } from '../lib/trie.js';
import { bytesToHex, concatBytes, hexToBytes } from '../lib/values.js';

/** Receipts of a node, made by web/tools/receipt_fixture.py. */
const FIXTURE = new URL('fixtures/receipts.json', import.meta.url);
const { signer, chainId, receipts } = existsSync(FIXTURE)
  ? JSON.parse(readFileSync(FIXTURE, 'utf8'))
  : { signer: '', chainId: '0x0', receipts: [] };
const withFixture = receipts.length > 0 ? {} : { skip: 'no fixture: run web/tools/receipt_fixture.py' };

/** @param {() => void} act @param {string} field */
const rejects = (act, field) => assert.throws(act, (error) => error instanceof ReceiptError && error.field === field, field);

test('receipts of a node verify', withFixture, () => {
  for (const receipt of receipts) {
    const found = verifyPreconfirmation(receipt, { signer, chainId: BigInt(chainId) });
    assert.equal(found.transactionHash, receipt.transactionHash);
    assert.equal(found.signer.toLowerCase(), signer);
    assert.equal(found.number, BigInt(receipt.blockNumber));
  }
  assert.ok(receipts.some((/** @type {any} */ receipt) => receipt.proof.length > 1), 'a proof has several nodes');
});

test('each changed field of a receipt is rejected by name', withFixture, () => {
  const [receipt] = receipts;
  const other = receipts.at(-1);
  /** @type {[Record<string, unknown>, string][]} */
  const cases = [
    [{ time: '0x1' }, 'signature'],
    [{ signer: `0x${'00'.repeat(20)}` }, 'signature'],
    [{ flashblockIndex: '0x7' }, 'signature'],
    [{ blockNumber: '0x7' }, 'blockNumber'],
    [{ transactionIndex: '0x7' }, 'proof'],
    [{ header: '0x' }, 'header'],
    [{ hash: `0x${'00'.repeat(32)}` }, 'header'],
    [{ previous: `0x${'00'.repeat(32)}` }, 'signature'],
    [{ proof: [] }, 'proof'],
    [{ proof: [...receipt.proof, '0x80'] }, 'proof'],
    [{ proof: null }, 'receipt'],
    [{ chainId: '0x1' }, 'transaction'],
    [{ transaction: other.transaction }, 'transaction'],
    [{ transaction: other.transaction, transactionHash: other.transactionHash }, 'proof'],
    [{ time: '0x01' }, 'time'],
    [{ hash: '0x01' }, 'hash'],
    [{ signature: `0x${'00'.repeat(65)}` }, 'signature'],
  ];
  for (const [change, field] of cases) rejects(() => verifyPreconfirmation({ ...receipt, ...change }), field);
  rejects(() => verifyPreconfirmation(receipt, { signer: `0x${'11'.repeat(20)}` }), 'signer');
  rejects(() => verifyPreconfirmation(receipt, { chainId: 1n }), 'chainId');
  for (const nothing of [null, 'text', 5, []]) rejects(() => verifyPreconfirmation(nothing), 'receipt');
});

test('a receipt with one changed bit is rejected', withFixture, () => {
  const receipt = receipts.find((/** @type {any} */ one) => one.proof.length > 1);
  let tried = 0;
  for (const field of ['header', 'transaction', 'signature']) {
    const bytes = hexToBytes(receipt[field]);
    for (let index = 0; index < bytes.length; index += 7) {
      const changed = bytes.slice();
      changed[index] = /** @type {number} */ (changed[index]) ^ 4;
      assert.throws(() => verifyPreconfirmation({ ...receipt, [field]: bytesToHex(changed) }), ReceiptError);
      tried += 1;
    }
  }
  assert.ok(tried > 50);
});

const KEY = new Uint8Array(32).fill(7);

/** Creates a receipt of a block with one legacy transaction, whose trie has one leaf. */
function ownReceipt() {
  const word = (/** @type {number} */ byte) => new Uint8Array(32).fill(byte);
  const transaction = rlpEncode([Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3), new Uint8Array(20), new Uint8Array(), new Uint8Array(), Uint8Array.of(27), word(1), word(2)]);
  // The key is the RLP of 0, which is 0x80: two nibbles, an even leaf.
  const leaf = rlpEncode([Uint8Array.of(0x20, 0x80), transaction]);
  const fields = [word(9), word(1), new Uint8Array(20), word(2), keccak(leaf), word(3), new Uint8Array(256), new Uint8Array(),
    Uint8Array.of(5), Uint8Array.of(100), new Uint8Array(), Uint8Array.of(77), new Uint8Array(), word(4), new Uint8Array(8), Uint8Array.of(7)];
  const header = rlpEncode(fields);
  const step = { chainId: 31337n, number: 5n, index: 0n, hash: keccak(header), previous: word(9), time: 1000n };
  return {
    chainId: '0x7a69', transactionHash: bytesToHex(keccak(transaction)), transactionIndex: '0x0', transaction: bytesToHex(transaction),
    blockNumber: '0x5', flashblockIndex: '0x0', hash: bytesToHex(step.hash), header: bytesToHex(header), previous: bytesToHex(step.previous),
    time: '0x3e8', signature: bytesToHex(signDigest(stepDigest(step), KEY)), signer: addressOf(KEY).toLowerCase(), proof: [bytesToHex(leaf)],
  };
}

test('a receipt of another key verifies but is not of the expected signer', () => {
  const receipt = ownReceipt();
  assert.equal(verifyPreconfirmation(receipt).signer, addressOf(KEY));
  assert.equal(verifyPreconfirmation(receipt).timestamp, 77n);
  rejects(() => verifyPreconfirmation(receipt, { signer: `0x${'11'.repeat(20)}` }), 'signer');
});

test('the first step must follow the parent block', () => {
  rejects(() => verifyPreconfirmation({ ...ownReceipt(), previous: `0x${'08'.repeat(32)}` }), 'previous');
});

test('a signature with a high s or another v is rejected', () => {
  const digest = keccak('digest');
  const signature = signDigest(digest, KEY);
  assert.equal(recoverAddress(digest, signature), addressOf(KEY));
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const high = order - BigInt(bytesToHex(signature.slice(32, 64)));
  const flipped = concatBytes(signature.slice(0, 32), hexToBytes(`0x${high.toString(16).padStart(64, '0')}`), Uint8Array.of(55 - /** @type {number} */ (signature[64])));
  assert.throws(() => recoverAddress(digest, flipped), /not a valid signature/);
  for (const v of [0, 1, 26, 29]) assert.throws(() => recoverAddress(digest, concatBytes(signature.slice(0, 64), Uint8Array.of(v))));
});

// Account of the test mnemonic of Hardhat, and its address.
test('addresses of keys match those of other wallets', () => {
  const key = hexToBytes('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
  assert.equal(addressOf(key), '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266');
});

test('RLP accepts canonical encodings only', () => {
  const dog = Uint8Array.from([0x83, 0x64, 0x6f, 0x67]);
  assert.deepEqual(rlpDecode(dog), dog.slice(1));
  assert.deepEqual(rlpDecode(Uint8Array.of(0xc0)), []);
  assert.deepEqual(rlpEncode([dog.slice(1), dog.slice(1)]), Uint8Array.from([0xc8, ...dog, ...dog]));
  assert.deepEqual(rlpEncodeNumber(1024), Uint8Array.of(0x82, 4, 0));
  const long = new Uint8Array(1024).fill(5);
  assert.deepEqual(rlpDecode(rlpEncode([long, [long]])), [long, [long]]);
  for (const bytes of [[], [0x81, 5], [0x83, 1], [0xc1], [0xb8, 1, 0x80], [0xb9, 0, 60], [0x80, 0x80], [0xc2, 0x83, 1]]) {
    assert.throws(() => rlpDecode(Uint8Array.from(bytes)), undefined, String(bytes));
  }
  assert.throws(() => rlpDecode(Uint8Array.from(new Array(5000).fill(0xc1))), /nested|early/);
});

test('a proof of absence has no value', () => {
  const leaf = rlpEncode([Uint8Array.of(0x20, 0x80), new Uint8Array(40).fill(1)]);
  assert.equal(verifyProof(keccak(leaf), Uint8Array.of(1), [leaf]), null);
  assert.throws(() => verifyProof(keccak(leaf), Uint8Array.of(0x80), []), /ends before/);
  assert.throws(() => verifyProof(keccak('other'), Uint8Array.of(0x80), [leaf]), /does not have the hash/);
});
