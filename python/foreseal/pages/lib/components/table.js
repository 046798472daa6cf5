// Tables and lists of facts.

import { formatInteger } from '../values.js';
import { html, useState } from './ui.js';

/** @typedef {import('./ui.js').Child} Child */
/**
 * @template T
 * @typedef {{label: string, cell: (row: T, index: number) => Child, numeric?: boolean, wrap?: boolean}} Column
 */

/** Rows that a table shows before a reader requests more of them. */
const PAGE = 200;

/**
 * The first items of a list, which may be long, and a button that shows more.
 * @template T
 * @param {readonly T[]} items
 * @param {number} page
 * @returns {{shown: readonly T[], more: Child}}
 */
export function useBounded(items, page) {
  const [limit, setLimit] = useState(page);
  const shown = items.slice(0, limit);
  const more = items.length > shown.length && html`<p><button type="button" class="button"
    onClick=${() => setLimit(limit + page)}>Show more of ${formatInteger(items.length)}</button></p>`;
  return { shown, more };
}

/**
 * A table that scrolls sideways on narrow screens. If it is stacked, each row is a list of its cells there.
 * @template T
 * @param {{caption: string, columns: Column<T>[], rows: readonly T[], rowKey: (row: T, index: number) => string,
 *   rowClass?: (row: T) => string, empty?: Child, isCaptionShown?: boolean, isStacked?: boolean}} props
 */
export function Table({ caption, columns, rows, rowKey, rowClass, empty = 'Nothing to show.', isCaptionShown = false, isStacked = false }) {
  const { shown, more } = useBounded(rows, PAGE);
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  /** @param {Column<T>} column */
  const look = (column) => (column.numeric ? 'numeric' : column.wrap ? 'wrap' : '');
  // Styles that stack a table remove its roles in some browsers.
  const role = (/** @type {string} */ name) => (isStacked ? name : undefined);
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label=${caption}>
    <table class=${isStacked ? 'stacked' : ''} role=${role('table')}>
      <caption class=${isCaptionShown ? '' : 'visually-hidden'}>${caption}</caption>
      <thead role=${role('rowgroup')}><tr role=${role('row')}>${columns.map((column) =>
        html`<th scope="col" role=${role('columnheader')} class=${look(column)}>${column.label}</th>`)}</tr></thead>
      <tbody role=${role('rowgroup')}>
        ${shown.map((row, index) => html`<tr key=${rowKey(row, index)} role=${role('row')} class=${rowClass?.(row) ?? ''}>
          ${columns.map((column) => html`<td role=${role('cell')} data-label=${role(column.label)} class=${look(column)}>${column.cell(row, index)}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>${more}`;
}

/**
 * A list of named facts. Rows without a value are omitted.
 * @param {{rows: readonly (readonly [string, Child])[]}} props
 */
export function Facts({ rows }) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return html`<dl class="facts">${shown.map(([label, value]) =>
    html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/**
 * A short status.
 * @param {{tone?: 'neutral' | 'live' | 'good' | 'bad' | 'warn', children?: Child}} props
 */
export function Badge({ tone = 'neutral', children }) {
  return html`<span class="badge" data-tone=${tone}>${children}</span>`;
}

/** A titled section. @param {{title: string, aside?: Child, children?: Child, level?: 2 | 3}} props */
export function Panel({ title, aside, children, level = 2 }) {
  const heading = level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`;
  return html`<section class="panel">
    <header class="panel-head">${heading}${aside && html`<div>${aside}</div>`}</header>
    ${children}
  </section>`;
}
