// Search of logs, with pages.

import { Empty } from '../../lib/components/errors.js';
import { SelectField, TextField } from '../../lib/components/field.js';
import { SearchProgress, usePagedSearch } from '../../lib/components/paged-search.js';
import { Badge, Panel } from '../../lib/components/table.js';
import { html, useId, useMemo, useState } from '../../lib/components/ui.js';
import { NewestFirst, OldestFirst } from '../../lib/log-pages.js';
import { PageReader } from '../../lib/page-reader.js';
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
const ORDERS = [{ value: 'newest', label: 'Newest first' }, { value: 'oldest', label: 'Oldest first, by cursor' }];

export const title = () => 'Logs';

/** @param {LogSearch} search @param {AbortSignal} signal @returns {Promise<LogPager>} */
async function openPager({ address, topics, from, to, isNewestFirst }, signal) {
  const filter = { ...(address ? { address } : {}), topics };
  if (isNewestFirst) return NewestFirst.create(rpc, filter, { limit: PAGE, from, to }, signal);
  const range = { fromBlock: toQuantity(from ?? 0), toBlock: to === null ? 'pending' : toQuantity(to) };
  return new OldestFirst(rpc, { ...filter, ...range }, PAGE);
}

/** @param {LogSearch} search */
const useLogs = (search) => usePagedSearch(
  async (signal) => new PageReader(await openPager(search, signal), PAGE), (/** @type {Log} */ log) => [log], search,
);

/** @param {{log: Log}} props */
function LogHead({ log }) {
  return html`<span class="log-position">
    <span>block <${BlockLink} number=${parseCount(log['blockNumber'])} /></span>
    <${TransactionLink} hash=${log['transactionHash']} />
    <span class="muted number">log ${parseCount(log['logIndex'])}</span>
    ${log['removed'] && html`<${Badge} tone="bad">withdrawn</${Badge}>`}
  </span>`;
}

/** @param {{search: LogSearch}} props */
function Results({ search }) {
  const found = useLogs(search);
  const { rows: logs, isLoading, isPaused, error } = found;
  const count = html`<span class="muted number" role="status">${formatInteger(logs.length)} loaded</span>`;
  return html`<${Panel} title="Results" aside=${count}>
    <div class="stack">
      ${logs.map((log, index) => html`<${LogView} key=${`${log['transactionHash']}-${log['logIndex']}-${index}`}
        log=${log} head=${html`<${LogHead} log=${log} />`} />`)}
      ${logs.length === 0 && !isLoading && !isPaused && !error && html`<${Empty}>No logs match.</${Empty}>`}
      <${SearchProgress} search=${found} label="Searching"
        more=${search.isNewestFirst ? 'Older logs' : found.isIdle ? 'Check for new logs' : 'Next page'} />
    </div>
  </${Panel}>`;
}

/** @param {{initial: SearchText, onSearch: (text: SearchText) => void}} props */
function SearchForm({ initial, onSearch }) {
  const events = useId();
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
  /** @param {keyof SearchText} name @param {string} label @param {string} placeholder @param {object} [more] */
  const field = (name, label, placeholder, more = {}) => html`<${TextField} label=${label} value=${text[name]} isCode=${true}
    placeholder=${placeholder} error=${error?.field === name ? error.message : null}
    onChange=${(/** @type {string} */ value) => onChange(name, value)} ...${more} />`;
  return html`<form class="stack" onSubmit=${submit}>
    <div class="form-row">
      ${field('address', 'Contract', 'any, or one or more addresses')}
      ${field('topic0', 'Event', 'any, or Transfer(address,address,uint256)', { list: events })}
    </div>
    <datalist id=${events}>
      ${Object.entries(COMMON_EVENTS).map(([name, signature]) => html`<option key=${name} value=${signature}>${name}</option>`)}
    </datalist>
    <div class="form-row">
      ${field('topic1', 'Topic 1', 'any')}${field('topic2', 'Topic 2', 'any')}${field('topic3', 'Topic 3', 'any')}
    </div>
    <div class="form-row">
      ${field('from', 'From block', 'first', { inputmode: 'numeric' })}
      ${field('to', 'To block', 'newest', { inputmode: 'numeric' })}
      <${SelectField} label="Order" value=${text.order || 'newest'} options=${ORDERS}
        onChange=${(/** @type {string} */ value) => onChange('order', value)} />
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
