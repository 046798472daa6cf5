// Results of the search box for texts that need a request to the node.

import { Loaded } from '../../lib/components/errors.js';
import { useRequest } from '../../lib/components/request.js';
import { Panel } from '../../lib/components/table.js';
import { html, useEffect } from '../../lib/components/ui.js';
import { live, router, rpc } from '../context.js';
import { parsePart } from '../known-values.js';
import { findResults } from '../search.js';

/** @typedef {import('../../lib/router.js').Location} Location */
/** @typedef {import('../search.js').SearchResult} SearchResult */

export const title = () => 'Search';

/** @param {{text: string}} props */
function NothingFound({ text }) {
  if (parsePart(text) !== null) {
    return html`<p>Nothing found. A part of a hash or an address is found in the newest blocks only: enter the whole hash
      (<span class="mono">0x</span> and 64 hex digits) or address (<span class="mono">0x</span> and 40).</p>`;
  }
  return html`<p>Nothing found. Search for a block number, a step such as <span class="mono">12.3</span>, a hash of a block,
    step or transaction, or an address.</p>`;
}

/** @param {{location: Location}} props */
export default function SearchPage({ location }) {
  const text = location.query.get('q')?.trim() ?? '';
  const request = useRequest((signal) => findResults(rpc, text, live.model.blocks, signal), [text]);
  const results = request.data;
  useEffect(() => {
    const [only, other] = results ?? [];
    if (only && !other) router.navigate(only.path, { replace: true });
  }, [results]);
  return html`
    <h1>Search</h1>
    <${Panel} title=${text === '' ? 'Nothing to search for' : `Results for ${text.slice(0, 100)}`}>
      <${Loaded} request=${request} label="Searching">${(/** @type {SearchResult[]} */ found) => found.length === 0
        ? html`<${NothingFound} text=${text} />`
        : html`<ul>${found.map(({ label, path }) =>
          html`<li key=${path}><a href=${router.href(path)}>${label}</a></li>`)}</ul>`}
      </${Loaded}>
    </${Panel}>
  `;
}
