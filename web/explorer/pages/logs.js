// Search of logs, with pages.

import { Empty, ErrorNotice, Loading } from '../../lib/components/errors.js';
import { Badge, Panel } from '../../lib/components/table.js';
import { html, onValue, useEffect, useId, useMemo, useState } from '../../lib/components/ui.js';
import { NewestFirst, OldestFirst } from '../../lib/log-pages.js';
import { isAbort } from '../../lib/rpc.js';
import { formatInteger, parseCount, toQuantity } from '../../lib/values.js';
import { router, rpc } from '../context.js';
import { LogView } from '../decoded.js';
import { BlockLink, TransactionLink } from '../links.js';
import { COMMON_EVENTS, FIELDS, FieldError, parseSearch, textOfQuery } from '../log-search.js';

/** @typedef {import('../../lib/router.js').Location} Location */
/** @typedef {import('../log-search.js').LogSearch} LogSearch */
/** @typedef {import('../log-search.js').SearchText} SearchText */
/** @typedef {import('../../lib/log-pages.js').LogPager} LogPager */
/** @typedef {import('../../lib/log-pages.js').Log} Log */

const PAGE = 25;

export const title = () => 'Logs';

/** @param {LogSearch} search @param {AbortSignal} signal @returns {Promise<LogPager>} */
async function openPager({ address, topics, from, to, isNewestFirst }, signal) {
  const filter = { ...(address ? { address } : {}), topics };
  if (isNewestFirst) return NewestFirst.create(rpc, filter, { limit: PAGE, from, to }, signal);
  const range = { fromBlock: toQuantity(from ?? 0), toBlock: to === null ? 'pending' : toQuantity(to) };
  return new OldestFirst(rpc, { ...filter, ...range }, PAGE);
}

/** @param {LogSearch} search */
function useLogs(search) {
  const [logs, setLogs] = useState(/** @type {Log[]} */ ([]));
  const [state, setState] = useState(/** @type {{isLoading: boolean, error: unknown, isDone: boolean, isEmptyPage: boolean}} */ (
    { isLoading: true, error: null, isDone: false, isEmptyPage: false }));
  const [round, setRound] = useState(0);
  const holder = useMemo(() => ({ pager: /** @type {LogPager | null} */ (null) }), [search]);
  useEffect(() => setLogs([]), [search]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const load = async () => {
      setState({ isLoading: true, error: null, isDone: false, isEmptyPage: false });
      try {
        holder.pager ??= await openPager(search, signal);
        const page = await holder.pager.next(signal);
        if (signal.aborted) return;
        setLogs((before) => [...before, ...page]);
        setState({ isLoading: false, error: null, isDone: holder.pager.done, isEmptyPage: page.length === 0 });
      } catch (error) {
        if (!signal.aborted && !isAbort(error)) setState({ isLoading: false, error, isDone: false, isEmptyPage: false });
      }
    };
    void load();
    return () => controller.abort();
  }, [search, round]);
  return { logs, ...state, loadMore: () => setRound((count) => count + 1) };
}

/** @param {{log: Log}} props */
function LogHead({ log }) {
  return html`<span class="log-position">block <${BlockLink} number=${parseCount(log['blockNumber'])} /> <${TransactionLink} hash=${log['transactionHash']} />
    <span class="muted number">log ${parseCount(log['logIndex'])}</span>${log['removed'] && html` <${Badge} tone="bad">withdrawn</${Badge}>`}</span>`;
}

/** @param {{search: LogSearch}} props */
function Results({ search }) {
  const { logs, isLoading, error, isDone, isEmptyPage, loadMore } = useLogs(search);
  return html`<${Panel} title="Results" aside=${html`<span class="muted number" role="status">${formatInteger(logs.length)} loaded</span>`}>
    <div class="stack">
      ${logs.map((log, index) => html`<${LogView} key=${`${log['transactionHash']}-${log['logIndex']}-${index}`} log=${log} head=${html`<${LogHead} log=${log} />`} />`)}
      ${logs.length === 0 && !isLoading && !error && html`<${Empty}>No logs match.</${Empty}>`}
      ${isLoading && html`<${Loading} label="Searching" />`}
      ${error && html`<${ErrorNotice} error=${error} onRetry=${loadMore} />`}
      ${!isLoading && !error && !isDone && html`<p><button type="button" class="button" onClick=${loadMore}>
        ${search.isNewestFirst ? 'Older logs' : isEmptyPage ? 'Check for new logs' : 'Next page'}</button></p>`}
    </div>
  </${Panel}>`;
}

/** @param {{id: string, label: string, name: keyof SearchText, text: SearchText, error: FieldError | null, hint?: string,
 *   list?: string, onChange: (name: keyof SearchText, value: string) => void}} props */
function Field({ id, label, name, text, error, hint, list, onChange }) {
  const isWrong = error?.field === name;
  return html`<div class="field">
    <label for=${`${id}-${name}`}>${label}</label>
    <input id=${`${id}-${name}`} class="input mono" list=${list} value=${text[name]} spellcheck="false" autocomplete="off" placeholder=${hint}
      aria-invalid=${isWrong ? 'true' : undefined} aria-describedby=${isWrong ? `${id}-error` : undefined}
      onInput=${onValue((value) => onChange(name, value))} />
    ${isWrong && html`<p class="field-error" id=${`${id}-error`}>${error.message}</p>`}
  </div>`;
}

/** @param {{initial: SearchText, onSearch: (text: SearchText) => void}} props */
function SearchForm({ initial, onSearch }) {
  const id = useId();
  const [text, setText] = useState(initial);
  const [error, setError] = useState(/** @type {FieldError | null} */ (null));
  /** @param {keyof SearchText} name @param {string} value */
  const onChange = (name, value) => setText((before) => ({ ...before, [name]: value }));
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    try {
      parseSearch(text);
      setError(null);
      onSearch(text);
    } catch (failure) {
      if (!(failure instanceof FieldError)) throw failure;
      setError(failure);
    }
  };
  const field = { id, text, error, onChange };
  return html`<form class="stack" onSubmit=${submit}>
    <div class="form-row">
      <${Field} ...${field} name="address" label="Contract" hint="any, or one or more addresses" />
      <${Field} ...${field} name="topic0" label="Event" hint="any, or Transfer(address,address,uint256)" list=${`${id}-events`} />
    </div>
    <datalist id=${`${id}-events`}>${Object.entries(COMMON_EVENTS).map(([name, signature]) => html`<option key=${name} value=${signature}>${name}</option>`)}</datalist>
    <div class="form-row">
      <${Field} ...${field} name="topic1" label="Topic 1" hint="any" />
      <${Field} ...${field} name="topic2" label="Topic 2" hint="any" />
      <${Field} ...${field} name="topic3" label="Topic 3" hint="any" />
    </div>
    <div class="form-row">
      <${Field} ...${field} name="from" label="From block" hint="first" />
      <${Field} ...${field} name="to" label="To block" hint="newest" />
      <div class="field"><label for=${`${id}-order`}>Order</label>
        <select id=${`${id}-order`} class="input" value=${text.order || 'newest'} onChange=${onValue((value) => onChange('order', value))}>
          <option value="newest">Newest first</option><option value="oldest">Oldest first, by cursor</option>
        </select></div>
      <button type="submit" class="button button-primary">Search</button>
    </div>
  </form>`;
}

/** @param {{location: Location}} props */
export default function LogsPage({ location }) {
  const text = textOfQuery(location.query);
  const key = FIELDS.map((name) => text[name]).join('\n');
  const isSearch = FIELDS.some((name) => text[name] !== '');
  const search = useMemo(() => {
    try {
      return isSearch ? parseSearch(text) : null;
    } catch {
      return null;
    }
  }, [key]);
  /** @param {SearchText} wanted */
  const onSearch = (wanted) => router.setQuery({ ...wanted, order: wanted.order || 'newest' });
  return html`
    <h1>Logs</h1>
    <${Panel} title="Search"><${SearchForm} key=${key} initial=${text} onSearch=${onSearch} /></${Panel}>
    ${search && html`<${Results} key=${key} search=${search} />`}
  `;
}
