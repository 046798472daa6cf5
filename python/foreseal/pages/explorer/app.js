// Frame of the explorer: header, search, navigation, and the page of the current route.

import { ErrorNotice, Loading } from '../lib/components/errors.js';
import { html, render, useEffect, useErrorBoundary, useState } from '../lib/components/ui.js';
import { formatInteger } from '../lib/values.js';
import { router, useLive } from './context.js';
import { SearchBox } from './search-box.js';

/** @typedef {import('../lib/router.js').Location} Location */
/** @typedef {(props: {location: Location}) => import('../lib/components/ui.js').Child} Page */

/** @type {Record<string, () => Promise<{default: Page, title: (location: Location) => string}>>} */
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

/** Loads the module of a page. @param {{location: Location}} props */
function CurrentPage({ location }) {
  const [loaded, setLoaded] = useState(/** @type {{name: string, page: Page | null, error: unknown} | null} */ (null));
  const [failure, resetFailure] = useErrorBoundary();
  useEffect(() => {
    let isCurrent = true;
    if (failure) resetFailure();
    const load = PAGES[location.name];
    /** @param {Page | null} page @param {unknown} error @param {string} title */
    const show = (page, error, title) => {
      if (!isCurrent) return;
      document.title = `${title} · Foreseal explorer`;
      setLoaded({ name: location.name, page, error });
    };
    if (load === undefined) show(NotFound, null, 'Not found');
    else {
      load().then(
        (module) => show(module.default, null, module.title(location)),
        (error) => show(null, error, 'Error'),
      );
    }
    return () => {
      isCurrent = false;
    };
  }, [location]);
  if (failure) return html`<${ErrorNotice} error=${failure} onRetry=${resetFailure} />`;
  if (loaded === null || loaded.name !== location.name) return html`<${Loading} />`;
  if (loaded.page === null) return html`<${ErrorNotice} error=${loaded.error} />`;
  const Shown = loaded.page;
  return html`<${Shown} location=${location} />`;
}

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
      <${CurrentPage} location=${location} key=${location.name} />
    </main>
  `;
}

const root = document.getElementById('app');
if (root) render(html`<${App} />`, root);
