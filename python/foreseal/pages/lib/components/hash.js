// Hashes, addresses and other hex data.

import { checksumAddress } from '../address.js';
import { byteLength, formatInteger, isAddress, shortHex } from '../values.js';
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

/** Text beyond this length slows the browser down. */
const MAX_HEX = 40_000;

/**
 * Hex data of any length, in a scrolling field. Of long data it shows the beginning; the button copies all of it.
 * @param {{value: string, label: string}} props
 */
export function HexBlock({ value, label }) {
  const rest = byteLength(value) - byteLength(value.slice(0, MAX_HEX));
  return html`<div class="hex-block">
    <pre class="mono" tabindex="0" role="region" aria-label=${label}>${value.slice(0, MAX_HEX)}</pre>
    <${CopyButton} value=${value} label=${`Copy ${label}`} />
    ${rest > 0 && html`<p class="muted">${formatInteger(rest)} more bytes are not shown. The button copies all of them.</p>`}
  </div>`;
}
