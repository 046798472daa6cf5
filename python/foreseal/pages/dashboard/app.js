// Frame of the dashboard: sign-in, header, navigation, and the page of the current route.

import { CurrentPage } from '../lib/components/current-page.js';
import { ErrorNotice, Loading } from '../lib/components/errors.js';
import { html, render, useEffect, useState } from '../lib/components/ui.js';
import { visibleName } from '../lib/text.js';
import { currentSession, loadSession, may, signOut, watchSession } from './api.js';
import { router } from './context.js';
import { ResultNotice } from './result.js';
import { SignIn } from './sign-in.js';

/** @typedef {import('../lib/router.js').Location} Location */
/** @typedef {import('./types.js').Session} Session */

/** @type {import('../lib/components/current-page.js').Pages} */
const PAGES = {
  overview: () => import('./pages/overview.js'),
  orders: () => import('./pages/orders.js'),
  order: () => import('./pages/order.js'),
  payouts: () => import('./pages/payouts.js'),
  payout: () => import('./pages/payout.js'),
  transfers: () => import('./pages/transfers.js'),
  webhooks: () => import('./pages/webhooks.js'),
  keys: () => import('./pages/keys.js'),
  export: () => import('./pages/export.js'),
};

const NAVIGATION = [
  { name: 'overview', path: '/', label: 'Overview', permission: 'GET /v1/statistics' },
  { name: 'orders', path: '/orders', label: 'Orders', permission: 'GET /v1/orders' },
  { name: 'payouts', path: '/payouts', label: 'Payouts', permission: 'GET /v1/payouts' },
  { name: 'transfers', path: '/transfers', label: 'Unmatched', permission: 'GET /v1/unmatched-transfers' },
  { name: 'webhooks', path: '/webhooks', label: 'Webhooks', permission: 'GET /v1/webhooks' },
  { name: 'keys', path: '/keys', label: 'API keys', permission: 'GET /v1/api-keys' },
  { name: 'export', path: '/export', label: 'Export', permission: 'GET /v1/export.csv' },
];
/** Pages that the list of another page links to. @type {Record<string, string>} */
const PARENTS = { order: 'orders', payout: 'payouts' };

/** @param {{current: string}} props */
function Header({ current }) {
  const { key, merchant } = currentSession();
  const [error, setError] = useState(/** @type {unknown} */ (null));
  return html`<header class="site-head">
    <div class="site-head-inner">
      <a class="brand" href=${router.href('/')}>${merchant ? visibleName(merchant) : 'Foreseal'}<span class="muted"> payments</span></a>
      <nav aria-label="Pages">
        ${NAVIGATION.filter(({ permission }) => may(permission)).map(({ name, path, label }) => html`<a key=${name}
          href=${router.href(path)} aria-current=${name === (PARENTS[current] ?? current) ? 'page' : undefined}>${label}</a>`)}
      </nav>
      <div class="account">
        <span class="muted">Key: ${visibleName(key.name)} (role ${key.role})</span>
        <button type="button" class="button" onClick=${() => signOut().catch(setError)}>Sign out</button>
      </div>
    </div>
    ${error && html`<${ErrorNotice} error=${error} />`}
  </header>`;
}

function NotFound() {
  return html`<h1>Page not found</h1>
    <p>The dashboard has no page at this address. <a href=${router.href('/')}>Go to the overview</a>.</p>`;
}

function Forbidden() {
  return html`<h1>Not permitted</h1><p>The role ${currentSession().key.role} may not open this page.</p>`;
}

/** @param {string} name */
function isPermitted(name) {
  const entry = NAVIGATION.find((each) => each.name === (PARENTS[name] ?? name));
  return entry === undefined || may(entry.permission);
}

/** @param {Location} location */
function substitute(location) {
  if (PAGES[location.name] === undefined) return { page: NotFound, title: 'Not found' };
  return isPermitted(location.name) ? null : { page: Forbidden, title: 'Not permitted' };
}

function SignedIn() {
  const [location, setLocation] = useState(() => router.location);
  useEffect(() => router.start(setLocation), []);
  useEffect(() => {
    // Readers with a keyboard or a screen reader continue at the new page.
    if (document.activeElement?.tagName === 'A') document.getElementById('main')?.focus({ preventScroll: true });
  }, [location.path]);
  return html`
    <a class="skip-link" href="#main">Skip to the content</a>
    <${Header} current=${location.name} />
    <main id="main" class="site-main stack" tabindex="-1">
      <${ResultNotice} path=${location.path} />
      <${CurrentPage} location=${location} pages=${PAGES} site="Foreseal payments" substitute=${substitute}
        pageKey=${location.path} />
    </main>
  `;
}

function App() {
  const [state, setState] = useState(
    /** @type {{isLoaded: boolean, session: Session | null, error: unknown}} */ ({ isLoaded: false, session: null, error: null }),
  );
  const [hadSession, setHadSession] = useState(false);
  useEffect(() => {
    watchSession((session) => {
      if (session !== null) setHadSession(true);
      setState({ isLoaded: true, session, error: null });
    });
    loadSession().catch((error) => setState({ isLoaded: true, session: null, error }));
  }, []);
  if (!state.isLoaded) return html`<main class="site-main"><${Loading} /></main>`;
  // A new session is a new page, so nothing of another user's page remains.
  if (state.session !== null) return html`<${SignedIn} key=${state.session.csrf_token} />`;
  return html`<${SignIn} hadSession=${hadSession} problem=${state.error} />`;
}

const root = document.getElementById('app');
if (root) render(html`<${App} />`, root);
