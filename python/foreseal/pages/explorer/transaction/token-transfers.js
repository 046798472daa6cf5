// Token transfers of a transaction, from the logs of its receipt.

import { html } from '../../lib/components/ui.js';
import { router } from '../context.js';
import { AddressLink } from '../links.js';
import { paths } from '../paths.js';
import { TokenName, TransferAmount } from '../token-amount.js';

/** @param {{found: import('../tokens.js').FoundTransfers, hash: string}} props */
export function TokenTransfers({ found: { transfers, hasMore }, hash }) {
  return html`<ul class="token-transfers">
    ${transfers.map(({ key, token, transfer }) => html`<li key=${key}>
      <strong><${TransferAmount} transfer=${transfer} token=${token} /></strong> <${TokenName} address=${token} />
      <span class="muted"> from </span><${AddressLink} address=${transfer.from} copy=${false} />
      <span class="muted"> to </span><${AddressLink} address=${transfer.to} copy=${false} />
    </li>`)}
    ${hasMore && html`<li><a href=${router.href(`${paths.transaction(hash)}?tab=logs`)}>More in the logs</a></li>`}
  </ul>`;
}
