// Wallets that the page offers: announced ones, an older injected one, and the pretend wallet of development chains.

import { hexToBytes, toQuantity } from './values.js';
import { discoverWallets } from './wallet.js';

/** @typedef {import('./wallet.js').AnnouncedWallet} AnnouncedWallet */

const FALLBACK_MS = 400;
// Accounts 4 to 6 of the public mnemonic of development chains.
const PUBLIC_KEYS = [
  '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
  '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a',
  '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba',
];

/** @type {unknown} */
let pretendWallet = null;

/** @param {(wallets: AnnouncedWallet[]) => void} onChange @returns {() => void} */
export function findWallets(onChange) {
  /** @type {AnnouncedWallet[]} */
  let announced = [];
  /** @type {AnnouncedWallet[]} */
  let injected = [];
  const stop = discoverWallets((wallets) => {
    announced = wallets;
    onChange([...announced, ...injected]);
  });
  const timer = setTimeout(() => {
    const provider = /** @type {any} */ (window).ethereum;
    // A wallet that announces itself also sets window.ethereum, so it would be listed twice.
    if (announced.some((wallet) => wallet.provider !== pretendWallet) || typeof provider?.request !== 'function') return;
    injected = [{ id: 'injected', name: 'Browser wallet', icon: null, provider }];
    onChange([...announced, ...injected]);
  }, FALLBACK_MS);
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/**
 * Announces the pretend wallet on a network.
 * @param {{chain_id: number, rpc_url: string | null}} network
 * @returns {Promise<() => void>}
 */
export async function announcePretendWallet({ chain_id, rpc_url }) {
  const { PretendWallet } = await import('./pretend-wallet.js');
  const chainId = toQuantity(chain_id);
  const networks = { [chainId]: rpc_url ?? '' };
  const wallet = new PretendWallet({ keys: PUBLIC_KEYS.map(hexToBytes), networks, chainId });
  pretendWallet = wallet;
  return wallet.announce();
}
