// Charts of the newest blocks.

import { Chart } from '../../lib/components/chart.js';
import { Panel } from '../../lib/components/table.js';
import { html, useMemo } from '../../lib/components/ui.js';
import { formatInteger, parseCount } from '../../lib/values.js';

/** @typedef {import('../chain.js').BlockEntry} BlockEntry */
/** @typedef {import('../live.js').Delay} Delay */
/** @typedef {import('../../lib/components/chart.js').AlignedData} AlignedData */

/** @param {number} value */
function compact(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 0 : 1)} M`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(value >= 1e4 ? 0 : 1)} k`;
  return value.toFixed(value < 10 && !Number.isInteger(value) ? 2 : 0);
}

/** @param {number} number */
const blockLabel = (number) => (Number.isInteger(number) ? formatInteger(number) : '');
/** @param {number} value */
const milliseconds = (value) => `${Math.round(value)} ms`;
/** @param {number} ms */
const clockLabel = (ms) => new Date(ms).toLocaleTimeString(undefined, { hour12: false });

const BARS = { color: '--accent', style: 'bars', format: compact };
const LINE = { color: '--accent', style: 'line', format: compact };
const POINTS = { color: '--live', style: 'points', format: milliseconds };

const CHARTS = /** @type {const} */ ([
  { field: 'gas', title: 'Gas used', series: BARS },
  { field: 'transactions', title: 'Transactions', series: BARS },
  { field: 'baseFee', title: 'Base fee, gwei', series: LINE },
]);

/** @param {BlockEntry} block */
const figures = ({ header, transactionCount }) => ({
  gas: parseCount(header['gasUsed']),
  transactions: transactionCount,
  baseFee: header['baseFeePerGas'] ? Number(BigInt(header['baseFeePerGas'])) / 1e9 : null,
});

/** @param {{sealed: BlockEntry[], delays: Delay[]}} props */
export function Charts({ sealed, delays }) {
  const newest = sealed[0]?.header['hash'];
  const data = useMemo(() => {
    const ordered = [...sealed].reverse();
    const numbers = ordered.map((block) => block.number);
    const values = ordered.map(figures);
    /** @param {'gas' | 'transactions' | 'baseFee'} field @returns {AlignedData} */
    const column = (field) => [numbers, values.map((one) => one[field])];
    return { gas: column('gas'), transactions: column('transactions'), baseFee: column('baseFee') };
  }, [newest, sealed.length]);
  const delayData = useMemo(
    () => /** @type {AlignedData} */ ([delays.map((delay) => delay.at), delays.map((delay) => delay.ms)]),
    [delays],
  );
  return html`<${Panel} title="Last blocks">
    <div class="charts">
      ${CHARTS.map(({ field, title, series }) => html`<${Chart} key=${field} title=${title} data=${data[field]}
        series=${series} formatX=${blockLabel} />`)}
      <${Chart} title="Submission to step" data=${delayData} series=${POINTS} formatX=${clockLabel} />
    </div>
    <p class="muted small">Submission to step: time from a transaction's arrival in the pool until its step, as this browser
      received both.</p>
  </${Panel}>`;
}
