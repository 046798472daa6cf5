// The checkout page of one order: /checkout/ORDER#CLIENT_SECRET.

import { Loading } from '../lib/components/errors.js';
import { Hash } from '../lib/components/hash.js';
import { useNow } from '../lib/components/time.js';
import { html, render, useEffect, useMemo, useRef, useState } from '../lib/components/ui.js';
import { visibleName, visibleText } from '../lib/text.js';
import { CheckoutClient } from './api.js';
import { sentence } from './failures.js';
import { follow } from './follow.js';
import { FailureNotice, PayPanel } from './pay-panel.js';
import { PhoneLink } from './phone-link.js';

/** @typedef {import('./api.js').CheckoutOrder} CheckoutOrder */
/** @typedef {import('./failures.js').Failure} Failure */

/** The service is three folders above this file: /checkout/static/checkout/app.js. */
const SERVICE = new URL('../../..', import.meta.url);
const PAID = ['preconfirmed', 'confirmed', 'final'];
const SIGNED = ['authorized', 'processing', ...PAID];
const ENDED = /** @type {Record<string, string>} */ ({ canceled: 'order_canceled', expired: 'order_expired' });
const STEPS = [
  { label: 'Authorized', from: ['authorized', 'processing', ...PAID] },
  { label: 'Pre-confirmed', from: PAID },
  { label: 'Confirmed', from: ['confirmed', 'final'] },
];

const order = decodeURIComponent(window.location.pathname.split('/').pop() ?? '');
const secret = window.location.hash.slice(1);
const client = new CheckoutClient(new URL(`v1/checkout/${encodeURIComponent(order)}`, SERVICE).href, secret);

/** @param {{deadline: number}} props */
function Countdown({ deadline }) {
  const left = Math.max(0, Math.floor((deadline - useNow()) / 1000));
  const days = Math.floor(left / 86_400);
  const clock = [Math.floor((left % 86_400) / 3600), Math.floor((left % 3600) / 60), left % 60];
  const text = clock.map((value) => String(value).padStart(2, '0')).join(':');
  return html`<span class="number" role="timer">${days > 0 ? `${days} d ` : ''}${text}</span>`;
}

/** @param {{shown: CheckoutOrder, deadline: number, isOpen: boolean}} props */
function Summary({ shown, deadline, isOpen }) {
  const { token, network } = shown;
  return html`<header class="checkout-head">
      <h1 class="merchant">${visibleText(shown.merchant_name, 80)}</h1>
      ${shown.description && html`<p class="description muted">${visibleText(shown.description, 500)}</p>`}
      <p class="price">${shown.is_maximum && html`<span class="muted">up to </span>`}${visibleText(shown.amount_shown, 60)}</p>
    </header>
    <dl class="facts panel">
      <div><dt>Token</dt><dd>${visibleName(token.name) || 'without a name'} <${Hash} value=${token.address} copy=${false} /></dd></div>
      <div><dt>Network</dt><dd>${visibleText(network.name, 60)} <span class="muted">(chain ${network.chain_id})</span></dd></div>
      <div><dt>Receiver</dt><dd><${Hash} value=${shown.spender ?? shown.payee} /></dd></div>
      ${isOpen && html`<div><dt>Expires in</dt><dd><${Countdown} deadline=${deadline} /></dd></div>`}
    </dl>`;
}

/** @param {{shown: CheckoutOrder}} props */
function Progress({ shown }) {
  const next = STEPS.findIndex((step) => !step.from.includes(shown.status));
  const { explorer_url: explorer } = shown.network;
  return html`<section class="panel stack" aria-label="Progress">
    <h2 aria-live="polite">${PAID.includes(shown.status) ? 'Paid' : 'Payment authorized'}</h2>
    <ol class="steps">${STEPS.map((step, index) => html`<li key=${step.label}
      data-state=${step.from.includes(shown.status) ? 'done' : index === next ? 'current' : 'open'}>${step.label}</li>`)}</ol>
    ${shown.status === 'authorized' && html`<p class="muted">${shown.is_delayed
      ? 'The shop could not complete the payment yet, and tries again.'
      : 'The shop completes the payment.'}</p>`}
    ${shown.transaction_hash && html`<p>Transaction <${Hash} value=${shown.transaction_hash}
      href=${explorer ? `${explorer}/tx/${shown.transaction_hash}` : undefined} /></p>`}
  </section>`;
}

/**
 * Reports the status to the page that opened this one, if it is of a configured origin.
 * @param {CheckoutOrder} shown
 */
function report(shown) {
  const { opener } = window;
  if (!opener || opener === window) return;
  for (const origin of shown.message_origins) {
    opener.postMessage({ type: 'foreseal.checkout', order: shown.id, status: shown.status }, origin);
  }
}

function Checkout() {
  const [shown, setShown] = useState(/** @type {CheckoutOrder | null} */ (null));
  const [failure, setFailure] = useState(/** @type {Failure | null} */ (null));
  const [deadline, setDeadline] = useState(Infinity);
  const [wasOpen, setWasOpen] = useState(false);
  const [isMine, setIsMine] = useState(false);
  const first = useRef(/** @type {CheckoutOrder | null} */ (null));
  /** @param {CheckoutOrder} next */
  const show = (next) => {
    first.current ??= next;
    setShown(next);
    setDeadline(Date.now() + 1000 * (next.pay_before - next.now));
    if (next.status === 'open') setWasOpen(true);
    report(next);
  };
  useEffect(() => follow(client, show, setFailure), []);
  const isExpired = useNow() >= deadline && shown?.status === 'open';
  const isConfirmed = shown !== null && ['confirmed', 'final'].includes(shown.status);
  useEffect(() => {
    if (shown !== null) document.title = `${visibleText(shown.amount_shown, 60)} · ${visibleText(shown.merchant_name, 80)}`;
  }, [shown?.id]);
  useEffect(() => {
    if (isConfirmed && isMine && shown.success_url && !window.opener) window.location.assign(shown.success_url);
  }, [isConfirmed]);
  const terms = useMemo(() => shown && { ...shown, ...termsOf(first.current ?? shown) }, [shown]);

  if (shown === null || terms === null) {
    return failure
      ? html`<div class="notice notice-error" role="alert" data-failure=${failure.code}><p>${sentence(failure, null)}</p></div>`
      : html`<${Loading} label="Loading the order" />`;
  }
  const isOpen = shown.status === 'open' && !isExpired;
  const ended = isExpired ? 'order_expired' : ENDED[shown.status];
  const paidBy = !SIGNED.includes(shown.status) || isMine ? null : wasOpen ? 'paid_elsewhere' : 'already_paid';
  const chain = isOpen ? { behind: 'node_behind', unreachable: 'node_unreachable' }[shown.chain_status] : undefined;
  return html`
    <${Summary} shown=${terms} deadline=${deadline} isOpen=${isOpen} />
    ${failure && html`<${FailureNotice} failure=${failure} order=${shown} />`}
    ${chain && html`<p class="notice notice-warn" role="status" data-failure=${chain}>${sentence({ code: chain }, shown)}</p>`}
    ${ended && html`<${FailureNotice} failure=${{ code: ended }} order=${shown} />`}
    ${paidBy && html`<p class="notice" role="status" data-failure=${paidBy}>${sentence({ code: paidBy }, shown)}</p>`}
    ${shown.status === 'failed' && html`<${FailureNotice} failure=${{ code: 'failed' }} order=${shown} />`}
    ${SIGNED.includes(shown.status) && html`<${Progress} shown=${shown} />`}
    ${isOpen && html`<${PayPanel} client=${client} order=${terms} onSigned=${setIsMine} onOrder=${show} />
      <${PhoneLink} url=${window.location.href} />`}
    ${PAID.includes(shown.status) && shown.success_url
      ? html`<a class="button button-primary pay-button" href=${shown.success_url}>Return to the shop</a>`
      : shown.cancel_url && !SIGNED.includes(shown.status) && html`<a href=${shown.cancel_url}>Back to the shop</a>`}
  `;
}

/** Terms that the shopper saw first; a payment of any others is rejected. @param {CheckoutOrder} seen */
function termsOf({ amount, amount_shown, token, network, payee, spender, is_maximum }) {
  return { amount, amount_shown, token, network, payee, spender, is_maximum };
}

const root = document.getElementById('app');
if (root) render(html`<main class="checkout"><${Checkout} /></main>`, root);
