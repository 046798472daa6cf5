// The payment link for a phone, as text and as a QR code.

import { CopyButton } from '../lib/components/copy.js';
import { html, useState } from '../lib/components/ui.js';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** @param {{url: string}} props */
export function PhoneLink({ url }) {
  const [path, setPath] = useState(/** @type {{d: string, size: number} | null} */ (null));
  /** @param {{currentTarget: HTMLDetailsElement}} event */
  const open = async ({ currentTarget }) => {
    if (!currentTarget.open || path !== null) return;
    const { qrPath } = await import('./qr.js');
    setPath(qrPath(url));
  };
  return html`<details class="panel" onToggle=${open}>
    <summary>Pay with your phone</summary>
    ${path && html`<svg class="qr" viewBox=${`0 0 ${path.size} ${path.size}`} role="img" aria-label="QR code of the payment link"
      shape-rendering="crispEdges"><path d=${path.d} fill="currentColor" /></svg>`}
    <p>Scan the code with a wallet or a camera, or send the link to your phone. Anyone with the link can pay the order.</p>
    ${LOOPBACK.test(new URL(url).hostname) && html`<p class="notice">This page is served on this computer only, so a phone
      cannot open the link.</p>`}
    <p class="actions"><${CopyButton} value=${url} text="Copy the payment link" /></p>
  </details>`;
}
