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

/** @param {{value: string, label?: string}} props */
export function CopyButton({ value, label = 'Copy' }) {
  const [status, setStatus] = useState(/** @type {'idle' | 'copied' | 'failed'} */ ('idle'));
  useEffect(() => {
    if (status === 'idle') return undefined;
    const timer = setTimeout(() => setStatus('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [status]);
  const copy = () => copyText(value).then(() => setStatus('copied'), () => setStatus('failed'));
  const text = { idle: '', copied: 'Copied', failed: 'Could not copy' }[status];
  return html`<button type="button" class="copy" data-status=${status} title=${label} aria-label=${label} onClick=${copy}>
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      ${status === 'copied'
        ? html`<path d="M3 8.5l3.2 3L13 4.5" fill="none" stroke="currentColor" stroke-width="1.6" />`
        : html`<path d="M5.5 5.5V3a1 1 0 0 1 1-1H13a1 1 0 0 1 1 1v6.5a1 1 0 0 1-1 1h-2.5M3 5.5h6.500a1 1 0 0 1 1 1V13a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V6.500a1 1 0 0 1 1-1z" fill="none" stroke="currentColor" stroke-width="1.3" />`}
    </svg>
    <span class="visually-hidden" role="status">${text}</span>
  </button>`;
}
