// Hashes, addresses and other hex data.

import { checksumAddress } from '../address.js';
import { isAddress, shortHex } from '../values.js';
import { CopyButton } from './copy.js';
import { html } from './ui.js';

/**
 * A hash or an address, shortened unless `full`, with a link and a button that copies it.
 * @param {{value: string, href?: string | undefined, full?: boolean, label?: string, copy?: boolean}} props
 */
export function Hash({ value, href, full = false, label, copy = true }) {
  const text = isAddress(value) ? checksumAddress(value) : value;
  const shown = label ?? (full ? text : shortHex(text));
  const name = label === undefined ? 'mono' : '';
  return html`<span class="hash">
    ${href
      ? html`<a class=${name} href=${href} title=${text}>${shown}</a>`
      : html`<span class=${name} title=${text}>${shown}</span>`}
    ${copy && html`<${CopyButton} value=${text} label=${`Copy ${text}`} />`}
  </span>`;
}

/**
 * Hex data of any length, in a scrolling field.
 * @param {{value: string, label: string}} props
 */
export function HexBlock({ value, label }) {
  return html`<div class="hex-block">
    <pre class="mono" tabindex="0" role="region" aria-label=${label}>${value}</pre>
    <${CopyButton} value=${value} label=${`Copy ${label}`} />
  </div>`;
}
