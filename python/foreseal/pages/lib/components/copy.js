// Button that copies a text.

import { html, useEffect, useState } from './ui.js';

const SHOWN_MS = 1500;

/**
 * Copies a text to the clipboard. Pages on plain HTTP hosts other than loopback have no clipboard interface, so a text
 * field serves as the fallback.
 * @param {string} text
 */
async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('the browser does not allow copying');
}

/**
 * A button with a picture, or with a text.
 * @param {{value: string, label?: string, text?: string}} props
 */
export function CopyButton({ value, label = 'Copy', text }) {
  const [status, setStatus] = useState(/** @type {'idle' | 'copied' | 'failed'} */ ('idle'));
  useEffect(() => {
    if (status === 'idle') return undefined;
    const timer = setTimeout(() => setStatus('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [status]);
  const copy = () => copyText(value).then(() => setStatus('copied'), () => setStatus('failed'));
  const outcome = { idle: '', copied: 'Copied', failed: 'Could not copy' }[status];
  if (text !== undefined) {
    return html`<span><button type="button" class="button" data-status=${status} onClick=${copy}>${outcome || text}</button>
      <span class="visually-hidden" role="status">${outcome}</span></span>`;
  }
  return html`<button type="button" class="copy" data-status=${status} title=${label} aria-label=${label}
    onClick=${copy}>
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.4">
      ${status === 'copied'
        ? html`<path d="M3 8.5l3.2 3L13 4.5" />`
        : html`<rect x="2" y="5.5" width="8.5" height="8.5" rx="1.2" /><path d="M5.5 5.5V2.5h8.5v8.5h-3.5" />`}
    </svg>
    <span class="visually-hidden" role="status">${outcome}</span>
  </button>`;
}
