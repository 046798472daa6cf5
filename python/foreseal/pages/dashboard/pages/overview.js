// Charts of the last days, and the health of the service.

import { Chart } from '../../lib/components/chart.js';
import { Empty, Loaded } from '../../lib/components/errors.js';
import { SelectField } from '../../lib/components/field.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Badge, Facts, Panel, Table } from '../../lib/components/table.js';
import { Ether } from '../../lib/components/amount.js';
import { html, useMemo, useRef, useState } from '../../lib/components/ui.js';
import { visibleName, visibleText } from '../../lib/text.js';
import { approximateTokens, formatInteger, formatTokens } from '../../lib/values.js';
import { currentSession, get, query } from '../api.js';
import { Account } from '../shown.js';

/** @typedef {import('../types.js').Statistics} Statistics */
/** @typedef {import('../types.js').DayStatistics} DayStatistics */
/** @typedef {import('../types.js').Health} Health */

const DAY = 86_400;
const REFRESH_MS = 5000;
const RANGES = [{ value: '7', label: '7 days' }, { value: '30', label: '30 days' }, { value: '90', label: '90 days' }, { value: '365', label: '365 days' }];
const TONES = /** @type {const} */ ({ ok: 'good', degraded: 'warn', unhealthy: 'bad', low: 'warn', empty: 'bad', unknown: 'neutral' });

export const title = () => 'Overview';

/** @param {number} seconds */
const formatDay = (seconds) => new Date(seconds * 1000).toISOString().slice(5, 10);

/**
 * Charts of one token. Days without orders are zero.
 * @param {{statistics: Statistics, token: string, days: number}} props
 */
function Charts({ statistics, token, days }) {
  const rows = statistics.items.filter((each) => each.token === token);
  const decimals = currentSession().destinations.find((each) => each.symbol === rows[0]?.symbol)?.decimals ?? null;
  const { times, volume, orders, success } = useMemo(() => {
    const byDay = new Map(rows.map((each) => [each.day, each]));
    const last = Math.floor((statistics.created_before - 1) / DAY) * DAY;
    const found = Array.from({ length: days }, (_, index) => last - (days - 1 - index) * DAY);
    const each = found.map((day) => byDay.get(day));
    return {
      times: found,
      volume: each.map((day) => (day === undefined ? 0 : Number(day.volume.amount) / 10 ** (decimals ?? 0))),
      orders: each.map((day) => day?.orders ?? 0),
      success: each.map((day) => (day === undefined || day.captured + day.failed === 0 ? null : (100 * day.captured) / (day.captured + day.failed))),
    };
  }, [statistics, token, days]);
  const symbol = visibleName(rows[0]?.symbol ?? '') || visibleName(token);
  /**
   * @param {string} name
   * @param {(number | null)[]} values
   * @param {import('../../lib/components/chart.js').Series} series
   */
  const chart = (name, values, series) => html`<${Chart} title=${name} formatX=${formatDay} series=${series}
    data=${/** @type {import('../../lib/components/chart.js').AlignedData} */ ([times, values])} />`;
  return html`<${Sums} rows=${rows} decimals=${decimals} symbol=${symbol} />
    <div class="columns">
    ${chart(`Captured volume, ${decimals === null ? 'smallest units of ' : ''}${symbol}`, volume, { color: '--accent', style: 'bars', format: approximateTokens })}
    ${chart('Orders', orders, { color: '--accent', style: 'bars', format: (value) => String(value) })}
    ${chart('Captured of all orders that ended', success, { color: '--good', style: 'points', format: (value) => `${value.toFixed(0)} %` })}
  </div>`;
}

/**
 * Sums of one token: captured, refunded, and the difference.
 * @param {{rows: DayStatistics[], decimals: number | null, symbol: string}} props
 */
function Sums({ rows, decimals, symbol }) {
  const captured = rows.reduce((sum, { volume }) => sum + BigInt(volume.amount), 0n);
  const refunded = rows.reduce((sum, each) => sum + BigInt(each.refunded.amount), 0n);
  /** @param {bigint} amount */
  const shown = (amount) => `${formatTokens(amount, decimals)} ${symbol}`;
  return html`<${Facts} rows=${[
    ['Captured', shown(captured)], ['Refunded', shown(refunded)], ['Net of refunds', shown(captured - refunded)],
  ]} />`;
}

/** @param {{statistics: Statistics, days: number}} props */
function StatisticsView({ statistics, days }) {
  const tokens = [...new Set(statistics.items.map((each) => each.token))];
  if (tokens.length === 0) return html`<${Empty}>No orders in this time.</${Empty}>`;
  return html`<div class="stack">
    ${!statistics.complete && html`<p class="notice notice-warn">There are too many orders: only those since ${formatDay(statistics.created_from)} are counted.</p>`}
    ${tokens.map((token) => html`<${Charts} key=${`${token}-${days}`} statistics=${statistics} token=${token} days=${days} />`)}
    <details><summary>Table</summary>
      <${Table} caption="Orders by day" rows=${statistics.items} rowKey=${(/** @type {DayStatistics} */ day) => `${day.day}-${day.token}`} columns=${[
        { label: 'Day (UTC)', cell: (/** @type {DayStatistics} */ day) => new Date(day.day * 1000).toISOString().slice(0, 10) },
        { label: 'Orders', cell: (/** @type {DayStatistics} */ day) => formatInteger(day.orders), numeric: true },
        { label: 'Captured', cell: (/** @type {DayStatistics} */ day) => formatInteger(day.captured), numeric: true },
        { label: 'Voided, canceled or expired', cell: (/** @type {DayStatistics} */ day) => formatInteger(day.failed), numeric: true },
        { label: 'Volume', cell: (/** @type {DayStatistics} */ day) => visibleName(day.volume.amount_shown, 60), numeric: true },
        { label: 'Refunded', cell: (/** @type {DayStatistics} */ day) => visibleName(day.refunded.amount_shown, 60), numeric: true },
      ]} />
    </details>
  </div>`;
}

/** @param {{health: Health}} props */
function HealthView({ health }) {
  const { node, worker, webhooks, destinations } = health;
  const lag = worker.read_block === null || worker.latest_block === null ? null : worker.latest_block - worker.read_block;
  return html`<div class="stack">
    ${health.reasons.map(({ code, message }) => html`<p class="notice notice-warn" key=${code + message}>${visibleText(message)}</p>`)}
    <${Facts} rows=${[
      ['Node', node.reachable ? `answers, block ${node.latest_block}` : 'does not answer'],
      ['Age of the block', node.block_age === null ? null : `${node.block_age.toFixed(1)} s`],
      ['Blocks not read yet', lag === null ? null : formatInteger(Math.max(0, lag))],
      ['Failed passes in a row', worker.consecutive_failures === 0 ? null : String(worker.consecutive_failures)],
      ['Webhooks that wait', formatInteger(webhooks.pending)],
      ['Webhooks that failed', formatInteger(webhooks.dead)],
      ['Database', health.database.reachable ? 'answers' : 'does not answer'],
      ['Processes', String(health.processes)],
    ]} />
    <${Table} caption="Gas of the payees" isCaptionShown=${true} rows=${destinations}
      rowKey=${(/** @type {Health['destinations'][number]} */ each) => each.name} columns=${[
        { label: 'Destination', cell: (/** @type {Health['destinations'][number]} */ each) => visibleName(each.name) },
        { label: 'Payee', cell: (/** @type {Health['destinations'][number]} */ each) => html`<${Account} address=${each.payee.address} />` },
        { label: 'Ether', cell: (/** @type {Health['destinations'][number]} */ { payee }) => (payee.balance === null ? 'unknown' : html`<${Ether} value=${payee.balance} />`), numeric: true },
        { label: 'Captures left', cell: (/** @type {Health['destinations'][number]} */ { payee }) => (payee.captures_left === null ? '' : formatInteger(payee.captures_left)), numeric: true },
        { label: 'Status', cell: (/** @type {Health['destinations'][number]} */ { payee }) => html`<${Badge} tone=${TONES[payee.status]}>${payee.status}</${Badge}>` },
      ]} />
  </div>`;
}

export default function OverviewPage() {
  const [range, setRange] = useState('30');
  const days = Number(range);
  const statistics = useRequest((signal) => {
    const before = Math.floor(Date.now() / 1000) + 1;
    const from = (Math.floor((before - 1) / DAY) - days + 1) * DAY;
    return /** @type {Promise<Statistics>} */ (get(`/v1/statistics${query({ created_from: from, created_before: before })}`, { signal }));
  }, [days]);
  const hasLoaded = useRef(false);
  const health = useRequest(async (signal) => {
    const found = /** @type {Health} */ (await get('/healthz', { signal, isBackground: hasLoaded.current }));
    hasLoaded.current = true;
    return found;
  }, []);
  useRepeat(health, REFRESH_MS);
  const status = health.data?.status;
  return html`<h1>Overview</h1>
    <${Panel} title="Orders" aside=${html`<${SelectField} label="Time" value=${range} onChange=${setRange} options=${RANGES} />`}>
      <${Loaded} request=${statistics}>${(/** @type {Statistics} */ found) => html`<${StatisticsView} statistics=${found} days=${days} />`}</${Loaded}>
    </${Panel}>
    <${Panel} title="Health" aside=${status && html`<span role="status"><${Badge} tone=${TONES[status]}>${status}</${Badge}></span>`}>
      <${Loaded} request=${health}>${(/** @type {Health} */ found) => html`<${HealthView} health=${found} />`}</${Loaded}>
    </${Panel}>`;
}
