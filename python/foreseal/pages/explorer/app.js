// Frame of the explorer: header, search, navigation, and the page of the current route.

import { CurrentPage } from '../lib/components/current-page.js';
import { html, render, useEffect, useState } from '../lib/components/ui.js';
import { formatInteger } from '../lib/values.js';
import { router, useLive } from './context.js';
import { SearchBox } from './search-box.js';

/** @typedef {import('../lib/router.js').Location} Location */

/** @type {import('../lib/components/current-page.js').Pages} */
const PAGES = {
  home: () => import('./pages/home.js'),
  block: () => import('./pages/block.js'),
  transaction: () => import('./pages/transaction.js'),
  address: () => import('./pages/address.js'),
  logs: () => import('./pages/logs.js'),
  pool: () => import('./pages/pool.js'),
  status: () => import('./pages/status.js'),
  search: () => import('./pages/search.js'),
};

const NAVIGATION = [
  { name: 'home', path: '/', label: 'Live' },
  { name: 'logs', path: '/logs', label: 'Logs' },
  { name: 'pool', path: '/pool', label: 'Pool' },
  { name: 'status', path: '/status', label: 'Status' },
];

const STATES = {
  connecting: { tone: 'warn', text: 'Connecting' },
  live: { tone: 'good', text: 'Live' },
  waiting: { tone: 'bad', text: 'Reconnecting' },
  failed: { tone: 'bad', text: 'No live updates' },
  stopped: { tone: 'neutral', text: 'Paused' },
  polling: { tone: 'good', text: 'Live, each second' },
  reading: { tone: 'warn', text: 'Live, newest block only' },
};

/** State of the connection, with the newest step. */
function Connection() {
  const { state, error, model } = useLive();
  const { tone, text } = STATES[state === 'polling' && error ? 'waiting' : state];
  const { head } = model;
  return html`<span class="connection" title=${error?.message ?? ''}>
    <span class="dot" data-tone=${tone} aria-hidden="true"></span>
    <span role="status">${text}</span>
    ${head && html`<span class="number muted" aria-label=${`Block ${head.number}, step ${head.index}`} role="img">
      ${`${formatInteger(head.number)}.${head.index}`}</span>`}
  </span>`;
}

/** @param {{current: string}} props */
function Header({ current }) {
  return html`<header class="site-head">
    <div class="site-head-inner">
      <a class="brand" href=${router.href('/')}>Foreseal<span class="muted"> explorer</span></a>
      <nav aria-label="Pages">
        ${NAVIGATION.map(({ name, path, label }) => html`<a key=${name} href=${router.href(path)}
          aria-current=${name === current ? 'page' : undefined}>${label}</a>`)}
      </nav>
      <${Connection} />
      <${SearchBox} />
    </div>
  </header>`;
}

function NotFound() {
  return html`<h1>Page not found</h1>
    <p>The explorer has no page at this address. Search above, or <a href=${router.href('/')}>watch the live block</a>.</p>`;
}

/** @param {Location} location */
const substitute = (location) => (PAGES[location.name] === undefined ? { page: NotFound, title: 'Not found' } : null);

function App() {
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
      <${CurrentPage} location=${location} pages=${PAGES} site="Foreseal explorer" substitute=${substitute}
        pageKey=${location.name} />
    </main>
  `;
}

const root = document.getElementById('app');
if (root) render(html`<${App} />`, root);
