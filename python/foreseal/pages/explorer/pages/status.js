// Status of the node.

import { Loaded } from '../../lib/components/errors.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Badge, Facts, Panel, Table } from '../../lib/components/table.js';
import { html } from '../../lib/components/ui.js';
import { visibleText } from '../../lib/text.js';
import { formatBytes, formatDuration, formatInteger, parseCount } from '../../lib/values.js';
import { rpc } from '../context.js';
import { AddressLink, BlockLink, StepLink } from '../links.js';

/**
 * @template T
 * @typedef {import('../../lib/components/table.js').Column<T>} Column
 */
/** @typedef {Record<string, any>} Json */

const RELOAD_MS = 1000;
/** Age of the newest tick, in milliseconds, beyond which production has stalled. */
const MAX_AGE = 2000;

export const title = () => 'Status';

/** @param {AbortSignal} signal */
async function loadStatus(signal) {
  const read = (/** @type {string} */ method) => rpc.call(method, [], { signal });
  const [status, version, chainId] = await Promise.all(['foreseal_status', 'web3_clientVersion', 'eth_chainId'].map(read));
  return { status, version, chainId };
}

/** @param {Json} status */
function health(status) {
  if (status['reason']) return html`<${Badge} tone="bad">failed</${Badge}> ${visibleText(status['reason'], 400)}`;
  if (status['producing'] && status['age'] > MAX_AGE) {
    return html`<${Badge} tone="bad">stalled</${Badge}> last tick ${formatDuration(status['age'])} ago`;
  }
  return html`<${Badge} tone="good">healthy</${Badge}>`;
}

/** @param {string | null} quantity */
const blockOf = (quantity) => quantity !== null && html`<${BlockLink} number=${parseCount(quantity)} />`;

/** @param {Json} status */
function headOf({ block, index }) {
  if (block === null) return null;
  const [number, step] = [parseCount(block), parseCount(index)];
  return html`block <${BlockLink} number=${number} />, <${StepLink} number=${number} index=${step} />`;
}

/** @param {{data: Json}} props */
function Node({ data: { status, version, chainId } }) {
  return html`<${Facts} rows=${[
    ['Health', health(status)],
    ['Version', html`<span class="mono">${visibleText(version, 100)}</span>`],
    ['Chain', formatInteger(parseCount(chainId))],
    ['Role', `${status.role}${status.producing ? ', produces blocks' : ''}`],
    ['Phase', status.phase],
    ['Under construction', headOf(status)],
    ['Latest', blockOf(status.latest)],
    ['Safe', blockOf(status.safe)],
    ['Finalized', blockOf(status.finalized)],
    ['Age of the last tick', html`<span class="number">${formatDuration(status.age)}</span>`],
    ['Lag', status.role === 'follower' && `${formatInteger(status.lag)} appends`],
    ['Signer of the steps', status.signer && html`<${AddressLink} address=${status.signer} full=${true} />`],
  ]} />`;
}

/** @param {{pool: Json}} props */
function Pool({ pool }) {
  return html`<${Facts} rows=${[
    ['Executable', formatInteger(pool['pooled'])],
    ['Queued', formatInteger(pool['queued'])],
    ['Size', formatBytes(pool['bytes'])],
    ['At the start', pool['start']],
  ]} />`;
}

/** @param {{store: Json}} props */
function Store({ store }) {
  const { scrub } = store;
  return html`<${Facts} rows=${[
    ['Newest block', blockOf(store['head'])],
    ['Backlog', `${formatInteger(store['backlog'])} appends`],
    ['Size', formatBytes(store['bytes'])],
    ['Builder throttle', `${store['share']}${store['share'] === 1 ? ', unthrottled' : ''}`],
    ['Scrub', scrub && `${formatBytes(scrub.bytes)} of ${formatBytes(scrub.total)}`],
    ['Scrub passes', scrub && formatInteger(scrub.passes)],
    ['Damaged', scrub && formatInteger(scrub.damaged)],
    ['Failure', store['reason'] && visibleText(store['reason'], 400)],
  ]} />`;
}

/** @param {Json} quorum */
function quorumState({ ok, silentMs }) {
  if (ok) return html`<${Badge} tone="good">answers</${Badge}>`;
  return html`<${Badge} tone="bad">silent</${Badge}> for ${formatDuration(silentMs)}`;
}

/** @param {{cluster: Json}} props */
function Cluster({ cluster }) {
  const { quorum, followers = [], lastTakeover } = cluster;
  const findings = quorum?.findings ?? [];
  /** @type {Column<Json>[]} */
  const columns = [
    { label: 'Name', cell: (row) => visibleText(String(row['name']), 60) },
    { label: 'Role', cell: (row) => row['role'] },
    { label: 'Version', cell: (row) => visibleText(String(row['version']), 60) },
    { label: 'Lag', numeric: true, cell: (row) => formatInteger(row['lag']) },
    { label: 'Connected', numeric: true, cell: (row) => formatDuration(row['connectedMs']) },
  ];
  return html`<${Facts} rows=${[
    ['Name', visibleText(String(cluster['name']), 60)],
    ['Role', cluster['role']],
    ['Owner', cluster['owner'] && visibleText(String(cluster['owner']), 60)],
    ['Epoch', formatInteger(cluster['epoch'] ?? 0)],
    ['Quorum', quorum && quorumState(quorum)],
    ['Findings', findings.length > 0 && html`<ul>${findings.map((/** @type {Json} */ one) =>
      html`<li key=${one['code']}>${visibleText(one['message'], 300)}</li>`)}</ul>`],
    ['Last takeover', lastTakeover && `${lastTakeover.reason}, epoch ${lastTakeover.epoch}`],
    ['Ready after', lastTakeover && formatDuration(lastTakeover.readyMs)],
  ]} />
  <${Table} caption="Followers" isCaptionShown=${true} columns=${columns} rows=${followers}
    rowKey=${(/** @type {Json} */ row) => String(row['name'])} empty="No followers." />`;
}

export default function StatusPage() {
  const request = useRequest(loadStatus, []);
  useRepeat(request, RELOAD_MS);
  return html`
    <h1>Node status</h1>
    <${Loaded} request=${request} label="Reading the status">${(/** @type {Json} */ data) => {
      const { pool, store, cluster } = data['status'];
      return html`<div class="stack">
        <${Panel} title="Node"><${Node} data=${data} /></${Panel}>
        <div class="columns"><${Panel} title="Pool"><${Pool} pool=${pool} /></${Panel}>
          ${store && html`<${Panel} title="Store"><${Store} store=${store} /></${Panel}>`}</div>
        ${cluster && html`<${Panel} title="Cluster"><${Cluster} cluster=${cluster} /></${Panel}>`}
      </div>`;
    }}</${Loaded}>
  `;
}
