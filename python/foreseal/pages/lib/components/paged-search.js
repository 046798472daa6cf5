// A search of logs that shows rows as they come, and that its reader can stop and continue.

import { isAbort } from '../rpc.js';
import { formatInteger } from '../values.js';
import { ErrorNotice, Loading } from './errors.js';
import { html, useEffect, useMemo, useRef, useState } from './ui.js';

/** @typedef {import('../page-reader.js').PageReader} PageReader */
/** @typedef {import('../log-pages.js').Log} Log */

/**
 * State of a search. A search that is paused has neither filled its page nor ended.
 * @typedef {{isLoading: boolean, isPaused: boolean, error: unknown, isDone: boolean, isIdle: boolean,
 *   reached: number | null}} SearchState
 */

/** @type {SearchState} */
const LOADING = { isLoading: true, isPaused: false, error: null, isDone: false, isIdle: false, reached: null };

/**
 * Reads one page of logs, and another one with each call of `loadMore`.
 * @template Row
 * @param {(signal: AbortSignal) => Promise<PageReader>} open starts the search
 * @param {(log: Log) => Row[]} rowsOf
 * @param {unknown} key identifier of the search; a different one starts a new search
 */
export function usePagedSearch(open, rowsOf, key) {
  const [rows, setRows] = useState(/** @type {Row[]} */ ([]));
  const [state, setState] = useState(LOADING);
  const [round, setRound] = useState(0);
  const controller = useRef(/** @type {AbortController | null} */ (null));
  const holder = useMemo(() => ({ reader: /** @type {PageReader | null} */ (null) }), [key]);
  useEffect(() => setRows([]), [key]);
  useEffect(() => {
    const current = new AbortController();
    controller.current = current;
    const { signal } = current;
    /** @param {Partial<SearchState>} change */
    const end = (change) => {
      const { reader } = holder;
      setState({ ...LOADING, isLoading: false, isDone: reader?.done ?? false, isIdle: reader?.isIdle ?? false, reached: reader?.reached ?? null, ...change });
    };
    const load = async () => {
      setState(LOADING);
      try {
        const reader = holder.reader ?? await open(signal);
        holder.reader = reader;
        const isComplete = await reader.read((logs) => setRows((before) => [...before, ...logs.flatMap(rowsOf)]), signal);
        if (controller.current === current) end({ isPaused: !isComplete });
      } catch (error) {
        // The page that was left, or another search, has a state of its own.
        if (controller.current !== current) return;
        if (isAbort(error)) end({ isPaused: true });
        else end({ error });
      }
    };
    void load();
    return () => {
      controller.current = null;
      current.abort();
    };
  }, [key, round]);
  return { rows, ...state, loadMore: () => setRound((count) => count + 1), stop: () => controller.current?.abort() };
}

/**
 * Progress of a search, with the buttons that stop and continue it.
 * @param {{search: SearchState & {loadMore: () => void, stop: () => void}, label: string, more: string}} props
 */
export function SearchProgress({ search: { isLoading, isPaused, error, isDone, reached, loadMore, stop }, label, more }) {
  if (isLoading) {
    return html`<div class="actions"><${Loading} label=${label} />
      <button type="button" class="button" onClick=${stop}>Stop</button></div>`;
  }
  if (error) return html`<${ErrorNotice} error=${error} onRetry=${loadMore} />`;
  if (isDone) return null;
  return html`<div class="actions">
    ${isPaused && html`<span class="muted" role="status">The search is paused${reached === null ? '' : ` at block ${formatInteger(reached)}`}.</span>`}
    <button type="button" class="button" onClick=${loadMore}>${isPaused ? 'Continue' : more}</button></div>`;
}
