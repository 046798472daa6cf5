// Wallets of the browser: discovery by EIP-6963, requests by EIP-1193.

import { checksumAddress } from './address.js';
import { visibleName } from './text.js';
import { isAddress, toQuantity } from './values.js';

/**
 * @typedef {{request: (call: {method: string, params?: unknown[]}) => Promise<any>,
 *   on?: (event: string, listener: (value: any) => void) => void,
 *   removeListener?: (event: string, listener: (value: any) => void) => void}} Provider
 */
/** @typedef {{id: string, name: string, icon: string | null, provider: Provider}} AnnouncedWallet */
/**
 * @typedef {{chainId: number, name: string, rpcUrl: string, currency: {name: string, symbol: string,
 *   decimals: number}}} Network
 */

const REJECTED = 4001;
const UNKNOWN_CHAIN = 4902;
const LOCKED = [4100, -32002];
const UNSUPPORTED = [4200, -32601];
const ICON = /^data:image\/(png|svg\+xml|webp|jpeg|gif)[;,]/;
const MAX_ICON_LENGTH = 200_000;

/** @typedef {'rejected' | 'wrong_network' | 'no_account' | 'locked' | 'unsupported' | 'failed'} WalletErrorCode */

/** Error of a wallet. `locked` also means that an earlier request waits in the wallet. */
export class WalletError extends Error {
  /** @override */
  name = 'WalletError';

  /** @param {WalletErrorCode} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Collects the wallets that announce themselves.
 * @param {(wallets: AnnouncedWallet[]) => void} onChange
 * @returns {() => void} stops the discovery
 */
export function discoverWallets(onChange) {
  /** @type {Map<string, AnnouncedWallet>} */
  const found = new Map();
  /** @param {Event} event */
  const announced = (event) => {
    const { info, provider } = /** @type {CustomEvent} */ (event).detail ?? {};
    if (typeof info?.uuid !== 'string' || typeof provider?.request !== 'function') return;
    const hasIcon = typeof info.icon === 'string' && info.icon.length <= MAX_ICON_LENGTH && ICON.test(info.icon);
    const icon = hasIcon ? info.icon : null;
    found.set(info.uuid, { id: info.uuid, name: visibleName(String(info.name ?? 'Wallet')), icon, provider });
    onChange([...found.values()]);
  };
  window.addEventListener('eip6963:announceProvider', announced);
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  return () => window.removeEventListener('eip6963:announceProvider', announced);
}

/** One connected wallet. */
export class Wallet {
  /** @type {string | null} */
  account = null;
  #provider;

  /** @param {Provider} provider */
  constructor(provider) {
    this.#provider = provider;
  }

  /**
   * Requests an account.
   * @returns {Promise<string>}
   */
  async connect() {
    const accounts = await this.#request('eth_requestAccounts');
    this.#setAccount(accounts);
    if (this.account === null) throw new WalletError('no_account', 'The wallet shared no account.');
    return this.account;
  }

  /**
   * Reports each change of the account; null means that the wallet disconnected.
   * @param {(account: string | null) => void} onChange
   * @returns {() => void}
   */
  watchAccount(onChange) {
    /** @param {unknown} accounts */
    const listener = (accounts) => {
      this.#setAccount(accounts);
      onChange(this.account);
    };
    this.#provider.on?.('accountsChanged', listener);
    return () => this.#provider.removeListener?.('accountsChanged', listener);
  }

  /**
   * Reports each change of the network, with its chain id.
   * @param {(chainId: number) => void} onChange
   * @returns {() => void}
   */
  watchNetwork(onChange) {
    /** @param {unknown} chainId */
    const listener = (chainId) => onChange(Number(chainId));
    this.#provider.on?.('chainChanged', listener);
    return () => this.#provider.removeListener?.('chainChanged', listener);
  }

  /** @param {unknown} accounts */
  #setAccount(accounts) {
    const [first] = Array.isArray(accounts) ? accounts : [];
    this.account = isAddress(first) ? checksumAddress(first) : null;
  }

  /** @returns {Promise<number>} */
  async chainId() {
    return Number(await this.#request('eth_chainId'));
  }

  /**
   * Switches the wallet to the network, and adds it if the wallet does not have it.
   * @param {Network} network
   */
  async useNetwork(network) {
    if ((await this.chainId()) === network.chainId) return;
    const chainId = toQuantity(network.chainId);
    try {
      await this.#provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
    } catch (error) {
      if (codeOf(error) !== UNKNOWN_CHAIN) throw walletError(error);
      const { name, rpcUrl, currency } = network;
      await this.#request('wallet_addEthereumChain', [
        { chainId, chainName: name, rpcUrls: [rpcUrl], nativeCurrency: currency },
      ]);
    }
    if ((await this.chainId()) !== network.chainId) {
      throw new WalletError('wrong_network', `The wallet is not on ${network.name}.`);
    }
  }

  /**
   * Sends a transaction from the account. Returns its hash.
   * @param {{to?: string, data?: string, value?: bigint}} transaction
   * @returns {Promise<string>}
   */
  async sendTransaction({ to, data, value }) {
    if (this.account === null) throw new WalletError('no_account', 'Connect a wallet first.');
    const call = {
      from: this.account,
      ...(to === undefined ? {} : { to }),
      ...(data === undefined ? {} : { data }),
      ...(value === undefined ? {} : { value: toQuantity(value) }),
    };
    return this.#request('eth_sendTransaction', [call]);
  }

  /**
   * Signs typed data of EIP-712.
   * @param {object} typedData
   * @returns {Promise<string>}
   */
  async signTypedData(typedData) {
    if (this.account === null) throw new WalletError('no_account', 'Connect a wallet first.');
    return this.#request('eth_signTypedData_v4', [this.account, JSON.stringify(typedData)]);
  }

  /** @param {string} method @param {unknown[]} [params] @returns {Promise<any>} */
  async #request(method, params = []) {
    try {
      return await this.#provider.request({ method, params });
    } catch (error) {
      throw walletError(error);
    }
  }
}

/** @param {any} error */
const codeOf = (error) => error?.data?.originalError?.code ?? error?.code;

/** @param {unknown} error */
function walletError(error) {
  if (error instanceof WalletError) return error;
  if (codeOf(error) === REJECTED) return new WalletError('rejected', 'You rejected the request in the wallet.');
  if (LOCKED.includes(codeOf(error))) return new WalletError('locked', 'The wallet is locked, or an earlier request waits in it.');
  if (UNSUPPORTED.includes(codeOf(error))) return new WalletError('unsupported', 'The wallet does not support the request.');
  const message = typeof (/** @type {any} */ (error)?.message) === 'string' ? /** @type {any} */ (error).message : 'no reason';
  return new WalletError('failed', `The wallet failed: ${visibleName(message, 200)}`);
}
