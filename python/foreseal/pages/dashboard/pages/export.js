// Export of all transfers for the books.

import { TextField } from '../../lib/components/field.js';
import { Panel } from '../../lib/components/table.js';
import { html, useState } from '../../lib/components/ui.js';
import { query, ROOT } from '../api.js';
import { DAY_PROBLEM, unixTime } from '../days.js';

export const title = () => 'Export';

export default function ExportPage() {
  const [from, setFrom] = useState('');
  const [before, setBefore] = useState('');
  /** @param {string} text */
  const problem = (text) => (text.trim() !== '' && unixTime(text) === null ? DAY_PROBLEM : null);
  const period = query({ block_time_from: unixTime(from), block_time_before: unixTime(before) });
  const isValid = problem(from) === null && problem(before) === null;
  return html`<h1>Export</h1>
    <${Panel} title="Transfers">
      <div class="stack">
        <p>Captured, granted (x402), unmatched, refunded and paid out transfers. A transfer belongs to the day of its block.</p>
        <div class="form-row">
          <${TextField} label="From day (UTC)" value=${from} onChange=${setFrom} error=${problem(from)} placeholder="YYYY-MM-DD" />
          <${TextField} label="Before day (UTC)" value=${before} onChange=${setBefore} error=${problem(before)} placeholder="YYYY-MM-DD" />
        </div>
        ${isValid && html`<div class="actions">
          <a class="button" download href=${`${ROOT}/v1/export.csv${period}`}>CSV</a>
          <a class="button" download href=${`${ROOT}/v1/export.jsonl${period}`}>JSON Lines</a></div>`}
      </div>
    </${Panel}>`;
}
