// Connection of a browser wallet, for writes to contracts.

import { ErrorNotice } from '../../lib/components/errors.js';
import { html, useEffect, useRef, useState } from '../../lib/components/ui.js';
import { Wallet, discoverWallets } from '../../lib/wallet.js';
import { endpoint, live } from '../context.js';
import { AddressLink } from '../links.js';

/** @typedef {import('../../lib/wallet.js').AnnouncedWallet} AnnouncedWallet */

const CURRENCY = { name: 'Ether', symbol: 'ETH', decimals: 18 };

/** State of the wallet of this page. */
export function useWallet() {
  const [wallets, setWallets] = useState(/** @type {AnnouncedWallet[]} */ ([]));
  const [account, setAccount] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const wallet = useRef(/** @type {Wallet | null} */ (null));
  const unwatch = useRef(() => {});
  useEffect(() => discoverWallets(setWallets), []);
  useEffect(() => () => unwatch.current(), []);
  /** @param {AnnouncedWallet} announced */
  const connect = async (announced) => {
    setError(null);
    try {
      const next = new Wallet(announced.provider);
      setAccount(await next.connect());
      unwatch.current();
      unwatch.current = next.watchAccount(setAccount);
      wallet.current = next;
    } catch (failure) {
      setError(failure);
    }
  };
  /** @param {{to: string, data: string, value: bigint}} transaction */
  const send = async (transaction) => {
    const connected = wallet.current;
    if (connected === null) throw new Error('Connect a wallet first.');
    const chainId = live.chainId;
    if (chainId !== null) {
      await connected.useNetwork({ chainId, name: `Foreseal ${chainId}`, rpcUrl: endpoint, currency: CURRENCY });
    }
    return connected.sendTransaction(transaction);
  };
  return { wallets, account, error, connect, send };
}

/** @param {{wallet: ReturnType<typeof useWallet>}} props */
export function WalletPanel({ wallet }) {
  const { wallets, account, error, connect } = wallet;
  if (account !== null) return html`<p>Connected as <${AddressLink} address=${account} /></p>`;
  return html`<div class="stack">
    ${wallets.length === 0
      ? html`<p class="muted">To send transactions, install a browser wallet. Simulation works without one.</p>`
      : html`<div class="actions">${wallets.map((one) => html`<button type="button" class="button wallet" key=${one.id}
          onClick=${() => connect(one)}>
          ${one.icon && html`<img src=${one.icon} alt="" width="20" height="20" />`}
          Connect ${one.name}</button>`)}</div>`}
    ${error && html`<${ErrorNotice} error=${error} />`}
  </div>`;
}
