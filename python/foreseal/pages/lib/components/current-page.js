// The page of the current route, whose module is loaded when it is first shown.

import { ErrorNotice, Loading } from './errors.js';
import { html, useEffect, useErrorBoundary, useState } from './ui.js';

/** @typedef {import('../router.js').Location} Location */
/** @typedef {(props: {location: Location}) => import('./ui.js').Child} Page */
/**
 * Modules by the name of their route.
 * @typedef {Record<string, () => Promise<{default: Page, title: (location: Location) => string}>>} Pages
 */
/** @typedef {{page: Page, title: string}} Substitute */

/**
 * `substitute` returns the page that is shown instead of one that does not exist or may not be shown, and null for all
 * others. A page keeps its state while `pageKey` stays the same.
 * @param {{location: Location, pages: Pages, site: string, substitute: (location: Location) => Substitute | null,
 *   pageKey: string}} props
 */
export function CurrentPage({ location, pages, site, substitute, pageKey }) {
  const [loaded, setLoaded] = useState(/** @type {{name: string, page: Page | null, error: unknown} | null} */ (null));
  const [failure, resetFailure] = useErrorBoundary();
  useEffect(() => {
    let isCurrent = true;
    if (failure) resetFailure();
    /** @param {Page | null} page @param {unknown} error @param {string} title */
    const show = (page, error, title) => {
      if (!isCurrent) return;
      document.title = `${title} · ${site}`;
      setLoaded({ name: location.name, page, error });
    };
    const other = substitute(location);
    if (other !== null) show(other.page, null, other.title);
    else {
      pages[location.name]?.().then(
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
  return html`<${Shown} location=${location} key=${pageKey} />`;
}
