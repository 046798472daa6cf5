// Wallet with keys of its own, for visitors without a wallet and for tests. It behaves like MetaMask: it requests
// approval, accepts only its networks, and announces itself by EIP-6963. Use it on development chains only.

import { isSameAddress } from './address.js';
import { RpcClient } from './rpc.js';
import { addressOf, signDigest } from './secp256k1.js';
import { signTransaction } from './transactions.js';
import { typedDataDigest } from './typed-data.js';
import { bytesToHex, parseQuantity, toQuantity } from './values.js';

/** @typedef {{method: string, params: any[]}} WalletRequest */
/**
 * @typedef {{keys: Uint8Array[], networks: Record<string, string>, chainId: string, name?: string,
 *   approve?: (request: WalletRequest) => boolean | Promise<boolean>}} PretendWalletOptions
 */

const APPROVED = ['eth_requestAccounts', 'eth_sendTransaction', 'eth_signTypedData_v4', 'wallet_switchEthereumChain', 'wallet_addEthereumChain'];
const ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='7' fill='%230a655d'/%3E%3C/svg%3E";

/** Error of a wallet with a code of EIP-1193. */
export class ProviderError extends Error {
  /** @override */
  name = 'ProviderError';

  /** @param {number} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const rejected = () => new ProviderError(4001, 'User rejected the request.');

/** Provider of EIP-1193. */
export class PretendWallet {
  /** @type {Map<string, Set<(value: any) => void>>} */
  #listeners = new Map();
  #isConnected = false;
  #keys;
  #networks;
  #chainId;
  #approve;
  #name;

  /**
   * @param {PretendWalletOptions} options `networks` has the address of a node by chain id in hex. `approve` stands for
   * the person who confirms a request.
   */
  constructor({ keys, networks, chainId, name = 'Pretend wallet', approve = () => true }) {
    this.#keys = keys;
    this.#networks = { ...networks };
    this.#chainId = chainId;
    this.#approve = approve;
    this.#name = name;
  }

  /** Announces the wallet to the page. @returns {() => void} stops it */
  announce() {
    const info = Object.freeze({ uuid: crypto.randomUUID(), name: this.#name, icon: ICON, rdns: 'dev.foreseal.pretend' });
    const announce = () => {
      const detail = Object.freeze({ info, provider: this });
      window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
    };
    window.addEventListener('eip6963:requestProvider', announce);
    announce();
    return () => window.removeEventListener('eip6963:requestProvider', announce);
  }

  /** @param {string} event @param {(value: any) => void} listener */
  on(event, listener) {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }

  /** @param {string} event @param {(value: any) => void} listener */
  removeListener(event, listener) {
    this.#listeners.get(event)?.delete(listener);
  }

  /** Makes the key at this position the account of the wallet. @param {number} index */
  switchAccount(index) {
    const [key] = this.#keys.splice(index, 1);
    if (key) this.#keys.unshift(key);
    if (this.#isConnected) this.#emit('accountsChanged', this.#accounts());
  }

  disconnect() {
    this.#isConnected = false;
    this.#emit('accountsChanged', []);
  }

  /** @param {{method: string, params?: any[]}} call @returns {Promise<any>} */
  async request({ method, params = [] }) {
    if (APPROVED.includes(method) && !(await this.#approve({ method, params }))) throw rejected();
    switch (method) {
      case 'eth_requestAccounts':
        this.#isConnected = true;
        return this.#accounts();
      case 'eth_accounts':
        return this.#isConnected ? this.#accounts() : [];
      case 'eth_chainId':
        return this.#chainId;
      case 'wallet_switchEthereumChain':
        return this.#switchChain(params[0]?.chainId);
      case 'wallet_addEthereumChain':
        this.#networks[params[0]?.chainId] = params[0]?.rpcUrls?.[0];
        return this.#switchChain(params[0]?.chainId);
      case 'eth_signTypedData_v4':
        return this.#signTypedData(params[0], params[1]);
      case 'eth_sendTransaction':
        return this.#sendTransaction(params[0]);
      default:
        return this.#node().call(method, params);
    }
  }

  /** @param {string} event @param {unknown} value */
  #emit(event, value) {
    this.#listeners.get(event)?.forEach((listener) => listener(value));
  }

  #accounts() {
    return this.#keys.map((key) => addressOf(key).toLowerCase());
  }

  #node() {
    const url = this.#networks[this.#chainId];
    if (url === undefined) throw new ProviderError(4902, `Unrecognized chain ID ${this.#chainId}.`);
    return new RpcClient(url);
  }

  /** @param {string} chainId */
  #switchChain(chainId) {
    if (this.#networks[chainId] === undefined) throw new ProviderError(4902, `Unrecognized chain ID ${chainId}.`);
    if (chainId !== this.#chainId) {
      this.#chainId = chainId;
      this.#emit('chainChanged', chainId);
    }
    return null;
  }

  /** @param {unknown} address */
  #keyOf(address) {
    const key = this.#keys.find((one) => typeof address === 'string' && isSameAddress(addressOf(one), address));
    if (!this.#isConnected || key === undefined) throw new ProviderError(4100, 'The account is not connected.');
    return key;
  }

  /** @param {unknown} address @param {unknown} text */
  #signTypedData(address, text) {
    const key = this.#keyOf(address);
    const data = typeof text === 'string' ? JSON.parse(text) : text;
    const { chainId } = data.domain;
    if (chainId !== undefined && BigInt(chainId) !== BigInt(this.#chainId)) {
      throw new ProviderError(-32603, `Provided chainId "${chainId}" must match the active chainId "${BigInt(this.#chainId)}"`);
    }
    return bytesToHex(signDigest(typedDataDigest(data), key));
  }

  /** @param {any} call */
  async #sendTransaction(call) {
    const key = this.#keyOf(call?.from);
    const node = this.#node();
    const [nonce, price, tip, gas] = await Promise.all([
      node.call('eth_getTransactionCount', [call.from, 'pending']),
      node.call('eth_gasPrice'),
      node.call('eth_maxPriorityFeePerGas'),
      call.gas ?? node.call('eth_estimateGas', [call, 'pending']),
    ]);
    const signed = signTransaction({
      chainId: BigInt(this.#chainId),
      nonce: parseQuantity(nonce),
      maxPriorityFeePerGas: parseQuantity(tip),
      // Twice the price lasts for several blocks of rising base fees.
      maxFeePerGas: 2n * parseQuantity(price) + parseQuantity(tip),
      gas: parseQuantity(gas),
      to: call.to ?? null,
      value: parseQuantity(call.value ?? toQuantity(0)),
      data: call.data ?? '0x',
    }, key);
    return node.call('eth_sendRawTransaction', [signed]);
  }
}
