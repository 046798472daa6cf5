// Routes over the history API.

/** @typedef {{name: string, params: Record<string, string>, query: URLSearchParams, path: string}} Location */
/** @typedef {{name: string, pattern: string}} Route */

/**
 * Returns the route that a path matches, with its parameters.
 * @param {readonly Route[]} routes
 * @param {string} path
 * @returns {{name: string, params: Record<string, string>} | null}
 */
export function matchRoute(routes, path) {
  const parts = split(path);
  for (const { name, pattern } of routes) {
    const wanted = split(pattern);
    if (wanted.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    const matches = wanted.every((segment, index) => {
      const part = /** @type {string} */ (parts[index]);
      if (!segment.startsWith(':')) return segment === part;
      const decoded = decode(part);
      if (decoded === null) return false;
      params[segment.slice(1)] = decoded;
      return true;
    });
    if (matches) return { name, params };
  }
  return null;
}

/** @param {string} path */
const split = (path) => path.split('/').filter((part) => part !== '');

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Router of one page whose paths begin with `base`. */
export class Router {
  #base;
  #routes;
  /** @type {(location: Location) => void} */
  #onChange = () => {};

  /** @param {string} base path, for example `/explorer` @param {readonly Route[]} routes */
  constructor(base, routes) {
    this.#base = base;
    this.#routes = routes;
  }

  /**
   * Returns the address of a path of the page.
   * @param {string} path
   */
  href(path) {
    return path === '/' ? this.#base : this.#base + path;
  }

  /** @returns {Location} */
  get location() {
    const { pathname, search } = window.location;
    const path = pathname.startsWith(this.#base) ? pathname.slice(this.#base.length) || '/' : '/';
    const match = matchRoute(this.#routes, path) ?? { name: 'not-found', params: {} };
    return { ...match, query: new URLSearchParams(search), path };
  }

  /** @param {(location: Location) => void} onChange */
  start(onChange) {
    this.#onChange = onChange;
    window.addEventListener('popstate', () => onChange(this.location));
    document.addEventListener('click', (event) => this.#follow(event));
  }

  /**
   * @param {string} path path of the page, with its query
   * @param {{replace?: boolean}} [options]
   */
  navigate(path, { replace = false } = {}) {
    const address = this.href(path);
    if (replace) window.history.replaceState(null, '', address);
    else window.history.pushState(null, '', address);
    if (!replace) window.scrollTo(0, 0);
    this.#onChange(this.location);
  }

  /**
   * Changes parameters of the query; null removes one.
   * @param {Record<string, string | null>} changes
   */
  setQuery(changes) {
    const { path, query } = this.location;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    this.navigate(text === '' ? path : `${path}?${text}`, { replace: true });
  }

  /** Follows links inside the page without a reload. @param {MouseEvent} event */
  #follow(event) {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href, window.location.href);
    const isInside = url.pathname === this.#base || url.pathname.startsWith(`${this.#base}/`);
    if (url.origin !== window.location.origin || !isInside || url.hash !== '') return;
    event.preventDefault();
    this.navigate((url.pathname.slice(this.#base.length) || '/') + url.search);
  }
}
