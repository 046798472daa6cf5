// The pay page of a resource: shows its price, signs a payment with a wallet, and shows the content.

import { isSameAddress } from '../lib/address.js';
import { Loading } from '../lib/components/errors.js';
import { Hash } from '../lib/components/hash.js';
import { html, render, useEffect, useRef, useState } from '../lib/components/ui.js';
import { visibleText } from '../lib/text.js';
import { isData } from '../lib/values.js';
import { findWallets } from '../lib/wallet-list.js';
import { Wallet, WalletError } from '../lib/wallet.js';
import { Content } from './content.js';
import { sentence } from './failures.js';
import { chainIdOf, paymentHeader, priceOf, tokenName, typedDataOf } from './requirements.js';
import { PaidResource, PaymentError, fetchDetails } from './resource.js';

/** @typedef {import('../lib/wallet.js').AnnouncedWallet} AnnouncedWallet */
/** @typedef {import('./requirements.js').Demand} Demand */
/** @typedef {import('./requirements.js').SellerDetails} SellerDetails */
/** @typedef {import('./resource.js').Answer} Answer */

const CURRENCY = { name: 'Ether', symbol: 'ETH', decimals: 18 };
const { origin, pathname, search } = window.location;
const resource = new PaidResource(`${origin}${pathname}${search}`);

/** @param {{demand: Demand, details: SellerDetails | null}} props */
function Terms({ demand: { requirements }, details }) {
  return html`<header>
      <h1>${visibleText(details?.seller_name ?? 'Payment required', 80)}</h1>
      <p class="resource muted">${visibleText(decoded(pathname) + search, 300)}</p>
      <p class="price">${priceOf(requirements, details)}</p>
    </header>
    <dl class="facts panel">
      <div><dt>Token</dt><dd>${tokenName(requirements.extra)} <${Hash} value=${requirements.asset} copy=${false} /></dd></div>
      <div><dt>Network</dt><dd>${networkName(requirements, details)}</dd></div>
      <div><dt>Receiver</dt><dd><${Hash} value=${requirements.payTo} /></dd></div>
    </dl>`;
}

/** @param {import('./requirements.js').Requirements} requirements @param {SellerDetails | null} details */
function networkName(requirements, details) {
  const chainId = chainIdOf(requirements);
  const name = details?.chain_id === chainId ? details.network_name : null;
  return name ? `${visibleText(name, 60)} (chain ${chainId})` : `Chain ${chainId}`;
}

/** @param {string} path */
function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** @param {{error: unknown, children?: import('../lib/components/ui.js').Child}} props */
function Failure({ error, children }) {
  const code = error instanceof PaymentError || error instanceof WalletError ? error.code : 'failed';
  return html`<div class="notice notice-error" role="alert" data-failure=${code}><p>${sentence(error)}</p>${children}</div>`;
}

/** @param {{demand: Demand, details: SellerDetails | null, onSigned: (header: string) => void}} props */
function PayPanel({ demand, details, onSigned }) {
  const [wallets, setWallets] = useState(/** @type {AnnouncedWallet[]} */ ([]));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [isBusy, setIsBusy] = useState(false);
  const isMounted = useRef(true);
  useEffect(() => findWallets(setWallets), []);
  useEffect(() => () => { isMounted.current = false; }, []);
  /** @param {AnnouncedWallet} announced */
  const pay = async (announced) => {
    setIsBusy(true);
    setError(null);
    try {
      onSigned(await sign(new Wallet(announced.provider), demand, details));
    } catch (raised) {
      setError(raised);
    }
    if (isMounted.current) setIsBusy(false);
  };
  return html`<section class="stack" aria-label="Payment">
    ${error !== null && html`<${Failure} error=${error} />`}
    ${wallets.length === 0 && html`<p class="muted" role="status">No wallet found in this browser. Install one, then reload the page.</p>`}
    <div class="wallets">${wallets.map((one) => html`<button type="button" class="button button-primary" key=${one.id}
      disabled=${isBusy} onClick=${() => pay(one)}>
      ${one.icon && html`<img src=${one.icon} alt="" width="24" height="24" />`}
      Pay with ${one.name}</button>`)}</div>
    ${isBusy && html`<p class="muted" role="status">Waiting for the wallet…</p>`}
    <p class="muted">You sign a message; the seller pays the network's fee.</p>
  </section>`;
}

/**
 * Returns the payment that the wallet signs.
 * @param {Wallet} wallet
 * @param {Demand} demand
 * @param {SellerDetails | null} details
 */
async function sign(wallet, demand, details) {
  const account = await wallet.connect();
  const chainId = chainIdOf(demand.requirements);
  const rpcUrl = details?.chain_id === chainId ? details.rpc_url ?? '' : '';
  await wallet.useNetwork({ chainId, name: networkName(demand.requirements, details), rpcUrl, currency: CURRENCY });
  // The demand may be old, and its time begins now.
  const current = await resource.demand();
  if (!('demand' in current) || !isSame(current.demand, demand)) throw new PaymentError('changed');
  const typedData = typedDataOf(current.demand, account);
  const signature = await wallet.signTypedData(typedData);
  if (!isData(signature)) throw new WalletError('unsupported', 'The wallet returned no signature.');
  if (wallet.account === null || !isSameAddress(wallet.account, account)) throw new PaymentError('account_changed');
  return paymentHeader(current.demand, typedData.message, signature);
}

/** @param {Demand} one @param {Demand} other */
const isSame = (one, other) => JSON.stringify(one.requirements) === JSON.stringify(other.requirements);

function PayPage() {
  const [details, setDetails] = useState(/** @type {SellerDetails | null} */ (null));
  const [demand, setDemand] = useState(/** @type {Demand | null} */ (null));
  const [answer, setAnswer] = useState(/** @type {Answer | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [isSending, setIsSending] = useState(resource.payment !== null);
  const load = async () => {
    setError(null);
    try {
      setDetails(await fetchDetails());
      const found = await resource.demand();
      if ('demand' in found) setDemand(found.demand);
      else setAnswer(found.answer);
    } catch (raised) {
      setError(raised);
    }
  };
  const send = async () => {
    setIsSending(true);
    setError(null);
    try {
      setAnswer(await resource.content());
    } catch (raised) {
      if (resource.payment === null) await load();
      setError(raised);
    }
    setIsSending(false);
  };
  useEffect(() => void (resource.payment === null ? load() : send()), []);
  /** @param {string} header */
  const onSigned = (header) => {
    resource.payment = header;
    void send();
  };
  if (answer !== null) return html`<h1 class="resource">${visibleText(decoded(pathname), 300)}</h1><${Content} answer=${answer} />`;
  if (isSending) return html`<${Loading} label="Sending the payment" />`;
  const retry = resource.payment === null ? load : send;
  return html`
    ${demand === null && error === null && html`<${Loading} label="Loading the price" />`}
    ${demand !== null && html`<${Terms} demand=${demand} details=${details} />`}
    ${error !== null && html`<${Failure} error=${error}>
      ${(demand === null || resource.payment !== null) && html`<button type="button" class="button" onClick=${retry}>Try again</button>`}
    </${Failure}>`}
    ${demand !== null && resource.payment === null && html`<${PayPanel} demand=${demand} details=${details} onSigned=${onSigned} />`}
  `;
}

const root = document.getElementById('app');
if (root) render(html`<main class="pay-page"><${PayPage} /></main>`, root);
