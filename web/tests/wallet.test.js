import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Wallet, WalletError, discoverWallets } from '../lib/wallet.js';

const ACCOUNT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const NETWORK = { chainId: 31337, name: 'Test', rpcUrl: 'http://node/', currency: { name: 'Ether', symbol: 'ETH', decimals: 18 } };

/**
 * Wallet that behaves like MetaMask.
 * @param {{chainId?: string, chains?: string[], accounts?: string[], rejects?: string[]}} [state]
 */
function provider({ chainId = '0x1', chains = ['0x1'], accounts = [ACCOUNT.toLowerCase()], rejects = [] } = {}) {
  /** @type {{method: string, params?: any}[]} */
  const calls = [];
  /** @type {Map<string, (value: any) => void>} */
  const listeners = new Map();
  const request = async (/** @type {{method: string, params?: any}} */ { method, params }) => {
    calls.push({ method, params });
    if (rejects.includes(method)) throw Object.assign(new Error('User rejected the request.'), { code: 4001 });
    switch (method) {
      case 'eth_requestAccounts':
        return accounts;
      case 'eth_chainId':
        return chainId;
      case 'wallet_switchEthereumChain':
        if (!chains.includes(params[0].chainId)) throw Object.assign(new Error('Unrecognized chain'), { code: 4902 });
        chainId = params[0].chainId;
        return null;
      case 'wallet_addEthereumChain':
        chains.push(params[0].chainId);
        chainId = params[0].chainId;
        return null;
      case 'eth_sendTransaction':
        return `0x${'ab'.repeat(32)}`;
      default:
        throw Object.assign(new Error(`no ${method}`), { code: -32601 });
    }
  };
  const on = (/** @type {string} */ event, /** @type {(value: any) => void} */ listener) => listeners.set(event, listener);
  const removeListener = (/** @type {string} */ event) => listeners.delete(event);
  return { provider: { request, on, removeListener }, calls, listeners };
}

/** @param {string} code */
const failsWith = (code) => (/** @type {unknown} */ error) => error instanceof WalletError && error.code === code;

test('connecting returns the account with its checksum', async () => {
  const wallet = new Wallet(provider().provider);
  assert.equal(await wallet.connect(), ACCOUNT);
});

test('a rejection and a wallet without accounts have codes of their own', async () => {
  await assert.rejects(new Wallet(provider({ rejects: ['eth_requestAccounts'] }).provider).connect(), failsWith('rejected'));
  await assert.rejects(new Wallet(provider({ accounts: [] }).provider).connect(), failsWith('no_account'));
  await assert.rejects(new Wallet(provider({ accounts: ['<b>'] }).provider).connect(), failsWith('no_account'));
});

test('a missing network is added once', async () => {
  const fake = provider();
  const wallet = new Wallet(fake.provider);
  await wallet.useNetwork(NETWORK);
  assert.equal(await wallet.chainId(), 31337);
  const added = fake.calls.find((call) => call.method === 'wallet_addEthereumChain');
  assert.deepEqual(added?.params, [{ chainId: '0x7a69', chainName: 'Test', rpcUrls: ['http://node/'], nativeCurrency: NETWORK.currency }]);
  fake.calls.length = 0;
  await wallet.useNetwork(NETWORK);
  assert.deepEqual(fake.calls.map((call) => call.method), ['eth_chainId']);
});

test('a network of the wallet is only switched to', async () => {
  const fake = provider({ chains: ['0x1', '0x7a69'] });
  await new Wallet(fake.provider).useNetwork(NETWORK);
  assert.ok(!fake.calls.some((call) => call.method === 'wallet_addEthereumChain'));
});

test('a rejected switch is a rejection', async () => {
  const fake = provider({ rejects: ['wallet_switchEthereumChain'] });
  await assert.rejects(new Wallet(fake.provider).useNetwork(NETWORK), failsWith('rejected'));
});

test('transactions come from the connected account', async () => {
  const fake = provider();
  const wallet = new Wallet(fake.provider);
  await assert.rejects(wallet.sendTransaction({ to: ACCOUNT }), failsWith('no_account'));
  await wallet.connect();
  assert.equal(await wallet.sendTransaction({ to: ACCOUNT, data: '0x01', value: 5n }), `0x${'ab'.repeat(32)}`);
  assert.deepEqual(fake.calls.at(-1)?.params, [{ from: ACCOUNT, to: ACCOUNT, data: '0x01', value: '0x5' }]);
});

test('an account switch and a disconnect are reported until the listener is removed', async () => {
  const fake = provider();
  const wallet = new Wallet(fake.provider);
  await wallet.connect();
  /** @type {(string | null)[]} */
  const seen = [];
  const stop = wallet.watchAccount((account) => seen.push(account));
  fake.listeners.get('accountsChanged')?.(['0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359']);
  fake.listeners.get('accountsChanged')?.([]);
  assert.deepEqual(seen, ['0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359', null]);
  stop();
  assert.equal(fake.listeners.size, 0);
});

test('announced wallets are collected, invalid ones and icons are not', () => {
  const target = new EventTarget();
  Object.assign(globalThis, { window: target });
  /** @type {any[]} */
  let wallets = [];
  const stop = discoverWallets((found) => { wallets = found; });
  const announce = (/** @type {object} */ detail) => target.dispatchEvent(Object.assign(new Event('eip6963:announceProvider'), { detail }));
  const { provider: usable } = provider();
  announce({ info: { uuid: 'a', name: 'A\u202e', icon: 'data:image/png;base64,AA==' }, provider: usable });
  announce({ info: { uuid: 'b', name: 'B', icon: 'javascript:alert(1)' }, provider: usable });
  announce({ info: { uuid: 'b', name: 'B', icon: 'https://tracker/' }, provider: usable });
  announce({ info: { name: 'no id' }, provider: usable });
  announce({ info: { uuid: 'c', name: 'C' }, provider: {} });
  assert.deepEqual(wallets.map(({ id, name, icon }) => [id, name, icon]), [['a', 'A\ufffd', 'data:image/png;base64,AA=='], ['b', 'B', null]]);
  stop();
  announce({ info: { uuid: 'd', name: 'D' }, provider: usable });
  assert.equal(wallets.length, 2);
});
