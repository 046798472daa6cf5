// Pre-confirmation receipt of a transaction, verified in the browser.

import { isSameAddress } from '../../lib/address.js';
import { Empty, ErrorNotice, Loaded } from '../../lib/components/errors.js';
import { TextField } from '../../lib/components/field.js';
import { Hash } from '../../lib/components/hash.js';
import { useRequest } from '../../lib/components/request.js';
import { Facts } from '../../lib/components/table.js';
import { Timestamp } from '../../lib/components/time.js';
import { html, useState } from '../../lib/components/ui.js';
import { isAddress, parseCount } from '../../lib/values.js';
import { rpc } from '../context.js';
import { AddressLink, BlockLink, StepLink } from '../links.js';

/** @typedef {import('../../lib/receipts.js').PreconfirmationReceipt} Receipt */
/** @typedef {import('../../lib/receipts.js').Preconfirmation} Preconfirmation */

const SIGNER_HINT =
  'The address that the operator of the sequencer publishes. It begins as the one that this node reports.';

/** @param {Receipt} receipt */
function downloadReceipt(receipt) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(receipt, null, 2)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `preconfirmation-${receipt.transactionHash}.json`;
  link.click();
  URL.revokeObjectURL(url);
}

/** @param {{result: Preconfirmation, expected: string, isFromNode: boolean}} props */
function Verified({ result, expected, isFromNode }) {
  return html`<div class="notice notice-good" role="status"><div>
    <p><strong>The receipt is valid.</strong> ${expected === ''
      ? 'No signer was expected, so the result only identifies the account that signed.'
      : 'The expected signer committed to this transaction at this position.'}</p>
    <ul class="checks">
      <li>The hash of the header is the hash of the step.</li>
      <li>The proof leads from the header's transactions root to the transaction at position
        ${` ${result.transactionIndex}.`}</li>
      <li>The signature of the step recovers to ${result.signer}.</li>
    </ul>
    ${isFromNode && html`<p class="small">The expected signer came from the same node as the receipt. Compare it with an
      address that the operator publishes.</p>`}
  </div></div>`;
}

/** @param {{receipt: Receipt, signer: string | null, chainId: string}} props */
function Verifier({ receipt, signer, chainId }) {
  const [expected, setExpected] = useState(signer ?? '');
  const [state, setState] = useState(/** @type {{result: Preconfirmation | null, error: unknown} | null} */ (null));
  const text = expected.trim();
  const isInvalid = text !== '' && !isAddress(text);
  const isFromNode = signer !== null && text !== '' && isSameAddress(text, signer);
  /** @param {string} value */
  const change = (value) => {
    setExpected(value);
    setState(null);
  };
  const verify = async () => {
    try {
      const { verifyPreconfirmation } = await import('../../lib/receipts.js');
      const wanted = { signer: text === '' ? undefined : text, chainId: BigInt(chainId) };
      const result = verifyPreconfirmation(receipt, wanted);
      setState({ result, error: null });
    } catch (error) {
      setState({ result: null, error });
    }
  };
  return html`<div class="stack">
    <${TextField} label="Expected signer" value=${expected} onChange=${change} isCode=${true} hint=${SIGNER_HINT}
      error=${isInvalid ? 'Write 0x and 40 hex digits.' : null} />
    <div class="actions">
      <button type="button" class="button button-primary" disabled=${isInvalid} onClick=${verify}>
        Verify in this browser</button>
      <button type="button" class="button" onClick=${() => downloadReceipt(receipt)}>Download the receipt</button>
    </div>
    ${state?.result && html`<${Verified} result=${state.result} expected=${text} isFromNode=${isFromNode} />`}
    ${state?.error && html`<${ErrorNotice} error=${state.error} />`}
  </div>`;
}

/** @param {{hash: string, block: string}} props */
export function PreconfirmationView({ hash, block }) {
  const request = useRequest(async (signal) => {
    const [receipt, status, chainId] = await Promise.all([
      rpc.call('foreseal_preconfirmation', [hash], { signal }),
      rpc.call('foreseal_status', [], { signal }),
      rpc.call('eth_chainId', [], { signal }),
    ]);
    return { receipt, signer: status.signer ?? null, chainId };
  }, [hash, block]);
  return html`<${Loaded} request=${request} label="Reading the receipt">
    ${(/** @type {{receipt: Receipt | null, signer: string | null, chainId: string}} */ { receipt, signer, chainId }) => {
      if (receipt === null) return html`<${Empty}>No block holds the transaction yet.</${Empty}>`;
      const [number, index] = [parseCount(receipt.blockNumber), parseCount(receipt.flashblockIndex)];
      return html`<div class="stack">
        <p class="muted">The sequencer signed the step that first contained this transaction. Its signature commits it to
          the transaction at this position of the block.</p>
        <${Facts} rows=${[
          ['Step', html`<${StepLink} number=${number} index=${index} label=${`Step ${index}`} />
            ${' of block '}<${BlockLink} number=${number} />`],
          ['Position in the block', parseCount(receipt.transactionIndex)],
          ['Hash of the step', html`<${Hash} value=${receipt.hash} full=${true} />`],
          ['Hash of the previous step', html`<${Hash} value=${receipt.previous} full=${true} />`],
          ['Time of the step', html`<${Timestamp} ms=${parseCount(receipt.time)} />`],
          ['Signer', html`<${AddressLink} address=${receipt.signer} full=${true} />`],
          ['Signature', html`<${Hash} value=${receipt.signature} full=${true} />`],
        ]} />
        <${Verifier} receipt=${receipt} signer=${signer} chainId=${chainId} />
      </div>`;
    }}
  </${Loaded}>`;
}
