// The live block, the sealed blocks behind it, and charts.

import { Gwei, Integer } from '../../lib/components/amount.js';
import { ErrorNotice, Loading } from '../../lib/components/errors.js';
import { Hash } from '../../lib/components/hash.js';
import { Panel, Table } from '../../lib/components/table.js';
import { Age } from '../../lib/components/time.js';
import { html, useEffect } from '../../lib/components/ui.js';
import { parseCount } from '../../lib/values.js';
import { live, router, useLive } from '../context.js';
import { Charts } from '../home/charts.js';
import { PendingBlock } from '../home/pending.js';
import { BlockLink } from '../links.js';
import { paths } from '../paths.js';
import { GasMeter } from '../summaries.js';

/**
 * @template T
 * @typedef {import('../../lib/components/table.js').Column<T>} Column
 */
/** @typedef {import('../chain.js').BlockEntry} BlockEntry */

const SHOWN_BLOCKS = 12;

export const title = () => 'Live block';

/** @type {Column<BlockEntry>[]} */
const COLUMNS = [
  { label: 'Block', numeric: true, cell: (block) => html`<${BlockLink} number=${block.number} />` },
  { label: 'Age', cell: (block) => html`<${Age} ms=${1000 * parseCount(block.header['timestamp'])} />` },
  { label: 'Steps', numeric: true, cell: (block) => block.steps.filter((step) => !step.isWithdrawn).length || '–' },
  { label: 'Transactions', numeric: true, cell: (block) => html`<${Integer} value=${block.transactionCount} />` },
  { label: 'Gas', cell: (block) => html`<${GasMeter} header=${block.header} />` },
  {
    label: 'Base fee',
    numeric: true,
    cell: (block) => (block.header['baseFeePerGas'] ? html`<${Gwei} value=${block.header['baseFeePerGas']} />` : '–'),
  },
  {
    label: 'Hash',
    cell: (block) =>
      html`<${Hash} value=${block.header['hash']} href=${router.href(paths.block(block.number))} />`,
  },
];

export default function Home() {
  const { model, state, error, delays } = useLive();
  useEffect(() => {
    void live.loadHistory();
    return live.watchPool();
  }, []);
  const { blocks, sealed } = model;
  if (blocks.length === 0) {
    return error ? html`<${ErrorNotice} error=${error} />` : html`<${Loading} label="Reading the chain" />`;
  }
  return html`
    ${state === 'failed' && html`<div class="notice notice-warn" role="status">
      <p>The node accepts no subscription from this page, so the page is not updated. ${error?.message ?? ''}</p>
    </div>`}
    ${error && state !== 'failed' && html`<${ErrorNotice} error=${error} />`}
    <${PendingBlock} live=${live} />
    <${Panel} title="Sealed blocks">
      <${Table} caption="Sealed blocks, the newest first" columns=${COLUMNS} rows=${sealed.slice(0, SHOWN_BLOCKS)}
        rowKey=${(/** @type {BlockEntry} */ block) => String(block.number)} empty="No block is sealed yet." />
    </${Panel}>
    <${Charts} sealed=${sealed} delays=${delays} />
  `;
}
