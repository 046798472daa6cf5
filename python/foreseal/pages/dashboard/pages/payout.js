// One payout: its recipients and transactions.

import { Loaded } from '../../lib/components/errors.js';
import { Hash } from '../../lib/components/hash.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Facts, Panel, Table } from '../../lib/components/table.js';
import { html, useRef } from '../../lib/components/ui.js';
import { visibleName } from '../../lib/text.js';
import { get, segment } from '../api.js';
import { Account, Status, TransactionHash } from '../shown.js';

/** @typedef {import('../types.js').PayoutDetail} PayoutDetail */
/** @typedef {PayoutDetail['payout']['recipients'][number]} Recipient */

const REFRESH_MS = 2000;

export const title = () => 'Payout';

/** @param {{location: import('../../lib/router.js').Location}} props */
export default function PayoutPage({ location }) {
  const id = location.params['id'] ?? '';
  const hasLoaded = useRef(false);
  const request = useRequest(async (signal) => {
    const found = /** @type {PayoutDetail} */ (await get(`/v1/payouts/${segment(id)}`, { signal, isBackground: hasLoaded.current }));
    hasLoaded.current = true;
    return found;
  }, [id]);
  const payout = request.data?.payout;
  useRepeat(request, payout === undefined || payout.finality === 'final' || payout.state === 'Blocked' ? null : REFRESH_MS);
  return html`<${Loaded} request=${request}>${(/** @type {PayoutDetail} */ { payout: found, transactions }) => html`
    <div class="page-head"><h1>Payout</h1><${Status} ...${found} /></div>
    <${Panel} title="Payout">
      <${Facts} rows=${[
        ['Reference', html`<${Hash} value=${found.id} />`],
        ['Amount', visibleName(found.amount_shown, 60)],
        ['Contract', html`<${Account} address=${found.contract} />`],
        ['Transactions', transactions.length === 0 ? null
          : transactions.flatMap((each) => each.hashes).map((hash) => html`<div key=${hash}><${TransactionHash} hash=${hash} /></div>`)],
      ]} />
    </${Panel}>
    <${Panel} title="Recipients"><${Table} caption="Recipients" rows=${found.recipients}
      rowKey=${(/** @type {Recipient} */ _, /** @type {number} */ index) => String(index)} columns=${[
        { label: 'Recipient', cell: (/** @type {Recipient} */ each) => html`<${Account} address=${each.recipient} />` },
        { label: 'Amount', cell: (/** @type {Recipient} */ each) => visibleName(each.amount_shown, 60), numeric: true },
      ]} /></${Panel}>`}</${Loaded}>`;
}
