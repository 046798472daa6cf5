import assert from 'node:assert/strict';
import { test } from 'node:test';

import { keccak, keccakHex } from '../lib/keccak.js';
import { PretendWallet, ProviderError } from '../lib/pretend-wallet.js';
import { stepDigest } from '../lib/receipts.js';
import { rlpDecode, rlpEncode } from '../lib/rlp.js';
import { addressOf, recoverAddress, signDigest } from '../lib/secp256k1.js';
import { signTransaction } from '../lib/transactions.js';
import { encodeType, typedDataDigest } from '../lib/typed-data.js';
import { Wallet, WalletError } from '../lib/wallet.js';
import { bytesToHex, concatBytes, hexToBytes } from '../lib/values.js';

// Example of EIP-712, with its digest and signature.
const MAIL = {
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' }, { name: 'version', type: 'string' }, { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
    Person: [{ name: 'name', type: 'string' }, { name: 'wallet', type: 'address' }],
    Mail: [{ name: 'from', type: 'Person' }, { name: 'to', type: 'Person' }, { name: 'contents', type: 'string' }],
  },
  primaryType: 'Mail',
  domain: { name: 'Ether Mail', version: '1', chainId: 1, verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC' },
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
};

test('the example of EIP-712 has its published digest and signature', () => {
  assert.equal(encodeType(MAIL.types, 'Mail'), 'Mail(Person from,Person to,string contents)Person(string name,address wallet)');
  const digest = typedDataDigest(MAIL);
  assert.equal(bytesToHex(digest), '0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2');
  const signature = bytesToHex(signDigest(digest, keccak('cow')));
  assert.equal(signature, `0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d${'07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562'}1c`);
});

test('the domain type follows from the domain', () => {
  const { EIP712Domain: _, ...types } = MAIL.types;
  assert.deepEqual(typedDataDigest({ ...MAIL, types }), typedDataDigest(MAIL));
});

test('the digest of a step is that of its typed data', () => {
  const [hash, previous] = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
  const step = { chainId: 31337n, number: 5n, index: 2n, hash: /** @type {Uint8Array} */ (hash), previous: /** @type {Uint8Array} */ (previous), time: 1700000000123n };
  const field = (/** @type {string} */ name, /** @type {string} */ type) => ({ name, type });
  const typed = {
    types: { Flashblock: [field('number', 'uint64'), field('index', 'uint64'), field('hash', 'bytes32'), field('previous', 'bytes32'), field('time', 'uint64')] },
    primaryType: 'Flashblock',
    domain: { name: 'Foreseal', version: '1', chainId: 31337 },
    message: { ...step, hash: bytesToHex(step.hash), previous: bytesToHex(step.previous) },
  };
  assert.deepEqual(typedDataDigest(typed), stepDigest(step));
});

test('arrays and missing values of typed data', () => {
  const data = { types: { Batch: [{ name: 'ids', type: 'uint256[]' }] }, primaryType: 'Batch', domain: {}, message: { ids: [1, '2'] } };
  const word = (/** @type {number} */ byte) => concatBytes(new Uint8Array(31), Uint8Array.of(byte));
  const struct = keccak(concatBytes(keccak('Batch(uint256[] ids)'), keccak(concatBytes(word(1), word(2)))));
  const domain = keccak(keccak('EIP712Domain()'));
  assert.deepEqual(typedDataDigest(data), keccak(concatBytes(Uint8Array.of(0x19, 1), domain, struct)));
  assert.throws(() => typedDataDigest({ ...data, message: {} }), /missing/);
  assert.throws(() => typedDataDigest({ ...data, primaryType: 'Other' }), /not defined/);
});

const KEY = keccak('cow');
const TRANSACTION = { chainId: 31337n, nonce: 0n, maxPriorityFeePerGas: 1n, maxFeePerGas: 2000000000n, gas: 21000n, to: addressOf(keccak('bob')), value: 5n, data: '0x' };

test('a signed transaction recovers to its sender', () => {
  const signed = hexToBytes(signTransaction(TRANSACTION, KEY));
  assert.equal(signed[0], 2);
  const fields = /** @type {any[]} */ (rlpDecode(signed.slice(1)));
  assert.equal(fields.length, 12);
  const digest = keccak(concatBytes(Uint8Array.of(2), rlpEncode(fields.slice(0, 9))));
  const pad = (/** @type {Uint8Array} */ part) => concatBytes(new Uint8Array(32 - part.length), part);
  const v = Uint8Array.of(27 + (fields[9].length === 0 ? 0 : 1));
  assert.equal(recoverAddress(digest, concatBytes(pad(fields[10]), pad(fields[11]), v)), addressOf(KEY));
});

/** @param {any} [options] */
function pretend(options = {}) {
  return new PretendWallet({ keys: [keccak('cow'), keccak('bob')], networks: { '0x1': 'http://other/' }, chainId: '0x1', ...options });
}

test('the pretend wallet behaves like a wallet of the browser', async () => {
  const provider = pretend();
  assert.deepEqual(await provider.request({ method: 'eth_accounts' }), []);
  const wallet = new Wallet(provider);
  assert.equal(await wallet.connect(), addressOf(KEY));
  const network = { chainId: 31337, name: 'Test', rpcUrl: 'http://node/', currency: { name: 'Ether', symbol: 'ETH', decimals: 18 } };
  await assert.rejects(provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: '0x7a69' }] }), (error) => error instanceof ProviderError && error.code === 4902);
  await wallet.useNetwork(network);
  assert.equal(await wallet.chainId(), 31337);
  await assert.rejects(wallet.signTypedData(MAIL), (error) => error instanceof WalletError && error.code === 'failed');
  await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: '0x1' }] });
  assert.equal(keccakHex(hexToBytes(await wallet.signTypedData(MAIL))), keccakHex(signDigest(typedDataDigest(MAIL), KEY)));
});

test('the pretend wallet rejects and switches accounts', async () => {
  const refusing = new Wallet(pretend({ approve: () => false }));
  await assert.rejects(refusing.connect(), (error) => error instanceof WalletError && error.code === 'rejected');
  const provider = pretend();
  const wallet = new Wallet(provider);
  await wallet.connect();
  /** @type {(string | null)[]} */
  const seen = [];
  wallet.watchAccount((account) => seen.push(account));
  provider.switchAccount(1);
  provider.disconnect();
  assert.deepEqual(seen, [addressOf(keccak('bob')), null]);
});

test('the pretend wallet sends a transaction that its node accepts', async () => {
  /** @type {any[]} */
  const calls = [];
  const answers = /** @type {Record<string, string>} */ ({ eth_getTransactionCount: '0x3', eth_gasPrice: '0x5', eth_maxPriorityFeePerGas: '0x1', eth_estimateGas: '0x5208', eth_sendRawTransaction: '0xhash' });
  const before = globalThis.fetch;
  globalThis.fetch = /** @type {any} */ (async (/** @type {string} */ _url, /** @type {any} */ { body }) => {
    const requests = [JSON.parse(body)].flat();
    calls.push(...requests);
    const results = requests.map(({ id, method }) => ({ id, result: answers[method] }));
    return { status: 200, text: async () => JSON.stringify(results.length === 1 ? results[0] : results) };
  });
  try {
    const wallet = new Wallet(pretend());
    await wallet.connect();
    assert.equal(await wallet.sendTransaction({ to: addressOf(keccak('bob')), value: 7n }), '0xhash');
  } finally {
    globalThis.fetch = before;
  }
  const raw = calls.find((call) => call.method === 'eth_sendRawTransaction').params[0];
  const fields = /** @type {Uint8Array[]} */ (rlpDecode(hexToBytes(raw).slice(1)));
  assert.deepEqual([fields[1], fields[3], fields[6]].map((field) => bytesToHex(/** @type {Uint8Array} */ (field))), ['0x03', '0x0b', '0x07']);
});
