// Lists with cursor pages.

import { ErrorNotice, Loading } from '../lib/components/errors.js';
import { html, useEffect, useState } from '../lib/components/ui.js';
import { isAbort } from '../lib/rpc.js';
import { get, query } from './api.js';

/** @typedef {import('../lib/components/ui.js').Child} Child */

/**
 * Loads the first page of a list, and more on request.
 * @template T
 * @param {string} path
 * @param {Record<string, string>} filters
 * @param {number} [round] a new value loads the list again
 */
export function usePages(path, filters, round = 0) {
  const key = JSON.stringify(filters);
  const [state, setState] = useState(
    /** @type {{items: T[], next: string | null, isLoading: boolean, error: unknown}} */ (
      { items: [], next: null, isLoading: true, error: null }),
  );
  const [wanted, setWanted] = useState(/** @type {{cursor: string | null, again: number}} */ ({ cursor: null, again: 0 }));
  useEffect(() => setWanted(({ again }) => ({ cursor: null, again: again + 1 })), [path, key, round]);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, isLoading: true, error: null }));
    /** @type {Promise<{items: T[], next: string | null}>} */
    const page = get(path + query({ ...filters, cursor: wanted.cursor }), { signal: controller.signal });
    page.then(
      ({ items, next }) => setState((before) => (
        { items: wanted.cursor === null ? items : [...before.items, ...items], next, isLoading: false, error: null })),
      (error) => {
        if (!isAbort(error)) setState((before) => ({ ...before, isLoading: false, error }));
      },
    );
    return () => controller.abort();
  }, [wanted]);
  return {
    ...state,
    loadMore: () => setWanted(({ again }) => ({ cursor: state.next, again })),
    reload: () => setWanted(({ again }) => ({ cursor: null, again: again + 1 })),
  };
}

/**
 * @param {{list: {isLoading: boolean, error: unknown, next: string | null, loadMore: () => void, reload: () => void},
 *   children?: Child}} props
 */
export function Pages({ list, children }) {
  const { isLoading, error, next, loadMore, reload } = list;
  return html`${error ? html`<${ErrorNotice} error=${error} onRetry=${reload} />` : children}
    ${isLoading && html`<${Loading} />`}
    ${!isLoading && !error && next !== null && html`<p><button type="button" class="button" onClick=${loadMore}>More</button></p>`}`;
}
