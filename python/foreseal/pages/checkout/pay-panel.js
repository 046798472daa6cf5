// Connection of a wallet, checks, and the signature.

import { Hash } from '../lib/components/hash.js';
import { html, useEffect, useRef, useState } from '../lib/components/ui.js';
import { isSameAddress } from '../lib/address.js';
import { visibleText } from '../lib/text.js';
import { isData } from '../lib/values.js';
import { Wallet, WalletError } from '../lib/wallet.js';
import { CheckoutError } from './api.js';
import { failureOf, sentence } from './failures.js';
import { matchesTerms } from './terms.js';
import { announcePretendWallet, findWallets } from '../lib/wallet-list.js';

/** @typedef {import('./api.js').CheckoutClient} CheckoutClient */
/** @typedef {import('./api.js').CheckoutOrder} CheckoutOrder */
/** @typedef {import('./failures.js').Failure} Failure */
/** @typedef {import('../lib/wallet.js').AnnouncedWallet} AnnouncedWallet */

const CURRENCY = { name: 'Ether', symbol: 'ETH', decimals: 18 };

/** Lists wallets. @param {CheckoutOrder} order */
function useWallets(order) {
  const [wallets, setWallets] = useState(/** @type {AnnouncedWallet[]} */ ([]));
  useEffect(() => findWallets(setWallets), []);
  useEffect(() => {
    if (!order.pretend_wallet) return undefined;
    const stop = announcePretendWallet(order.network);
    return () => void stop.then((end) => end());
  }, [order.pretend_wallet]);
  return wallets;
}

/** @param {{wallets: AnnouncedWallet[], isBusy: boolean, onChoose: (wallet: AnnouncedWallet) => void}} props */
function WalletList({ wallets, isBusy, onChoose }) {
  if (wallets.length === 0) {
    return html`<p class="muted" role="status">No wallet found in this browser. Install one, or scan the code below with your phone.</p>`;
  }
  return html`<div class="wallets">${wallets.map((one) => html`<button type="button" class="button" key=${one.id}
    disabled=${isBusy} onClick=${() => onChoose(one)}>
    ${one.icon && html`<img src=${one.icon} alt="" width="24" height="24" />`}
    Connect ${one.name}</button>`)}</div>`;
}

/** @param {{failure: Failure, order: CheckoutOrder, children?: import('../lib/components/ui.js').Child}} props */
export function FailureNotice({ failure, order, children }) {
  return html`<div class="notice notice-error" role="alert" data-failure=${failure.code}>
    <p>${sentence(failure, order)}</p>${children}</div>`;
}

/**
 * @param {{client: CheckoutClient, order: CheckoutOrder, onSigned: (isSigned: boolean) => void,
 *   onOrder: (order: CheckoutOrder) => void}} props
 */
export function PayPanel({ client, order, onSigned, onOrder }) {
  const wallets = useWallets(order);
  const wallet = useRef(/** @type {Wallet | null} */ (null));
  const stops = useRef(/** @type {(() => void)[]} */ ([]));
  const [account, setAccount] = useState(/** @type {string | null} */ (null));
  const [chainId, setChainId] = useState(0);
  const [failure, setFailure] = useState(/** @type {Failure | null} */ (null));
  const [busy, setBusy] = useState('');
  useEffect(() => () => stops.current.forEach((stop) => stop()), []);

  /** Runs one step; its error becomes the failure. @param {string} label @param {() => Promise<void>} step */
  const run = async (label, step) => {
    setBusy(label);
    setFailure(null);
    try {
      await step();
    } catch (error) {
      setFailure(failureOf(error));
    }
    setBusy('');
  };
  /** @param {AnnouncedWallet} announced */
  const connect = (announced) => run('Waiting for the wallet', async () => {
    const next = new Wallet(announced.provider);
    const connected = await next.connect();
    const network = await next.chainId();
    stops.current.forEach((stop) => stop());
    stops.current = [
      next.watchAccount((changed) => {
        setAccount(changed);
        setFailure(changed === null ? { code: 'no_account' } : { code: 'account_changed' });
      }),
      next.watchNetwork(setChainId),
    ];
    wallet.current = next;
    setChainId(network);
    setAccount(connected);
  });
  const switchNetwork = () => run('Waiting for the wallet', async () => {
    const { chain_id, name, rpc_url } = order.network;
    const network = { chainId: chain_id, name: visibleText(name, 60), rpcUrl: rpc_url ?? '', currency: CURRENCY };
    if (wallet.current === null) return;
    await wallet.current.useNetwork(network);
    setChainId(await wallet.current.chainId());
  });
  const pay = () => run('Waiting for your signature', async () => {
    const current = wallet.current;
    if (current === null || account === null) return;
    const payment = await client.payment(account);
    if (!payment.is_sufficient) {
      setFailure({ code: 'insufficient_balance', detail: visibleText(payment.balance_shown, 60) });
      return;
    }
    if (!matchesTerms(payment.typed_data, order, account)) {
      setFailure({ code: 'amount_changed' });
      return;
    }
    const signature = await current.signTypedData(payment.typed_data);
    if (!isData(signature)) throw new WalletError('unsupported', 'The wallet returned no signature.');
    if (current.account === null || !isSameAddress(current.account, account)) {
      setFailure({ code: 'account_changed' });
      return;
    }
    setBusy('Sending the payment');
    onSigned(true);
    try {
      onOrder((await client.authorize(account, signature)).order);
    } catch (error) {
      // Without a response, the service may have stored the signature.
      onSigned(error instanceof CheckoutError && error.code === 'unreachable');
      throw error;
    }
  });

  if (account === null) {
    return html`<section class="stack" aria-label="Payment">
      <h2>Choose a wallet</h2>
      ${failure && html`<${FailureNotice} failure=${failure} order=${order} />`}
      <${WalletList} wallets=${wallets} isBusy=${busy !== ''} onChoose=${connect} />
      ${busy && html`<p class="muted" role="status">${busy}…</p>`}
    </section>`;
  }
  const isWrongNetwork = chainId !== order.network.chain_id;
  const isWrongPayer = order.payer !== null && !isSameAddress(order.payer, account);
  return html`<section class="stack" aria-label="Payment">
    <p>Paying from <${Hash} value=${account} copy=${false} /></p>
    ${isWrongPayer && html`<${FailureNotice} failure=${{ code: 'payer_mismatch' }} order=${order} />`}
    ${isWrongNetwork && html`<${FailureNotice} failure=${{ code: 'wrong_network' }} order=${order}>
      <button type="button" class="button" disabled=${busy !== ''} onClick=${switchNetwork}>
        Switch to ${visibleText(order.network.name, 60)}</button></${FailureNotice}>`}
    ${failure && html`<${FailureNotice} failure=${failure} order=${order} />`}
    <button type="button" class="button button-primary pay-button" onClick=${pay}
      disabled=${busy !== '' || isWrongNetwork || isWrongPayer}>
      ${busy || `${order.is_maximum ? 'Authorize up to' : 'Pay'} ${visibleText(order.amount_shown, 60)}`}</button>
    <p class="muted">You sign a message; the shop pays the network's fee.</p>
  </section>`;
}
