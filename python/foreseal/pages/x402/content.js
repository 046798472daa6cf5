// The paid content: text and images are shown, and everything can be saved. Nothing of it runs.

import { html, useEffect, useMemo, useState } from '../lib/components/ui.js';
import { Hash } from '../lib/components/hash.js';
import { isHash } from '../lib/values.js';
import { decodeHeader } from './requirements.js';

/** @typedef {import('./resource.js').Answer} Answer */

const MAX_SHOWN = 200_000;
const TEXT = /^(text\/(?!html)|application\/(json|xml|yaml|[\w.-]+\+(json|xml))\b)/;
const IMAGE = /^image\/(png|jpeg|gif|webp|avif)\b/;
const NAME = /[^\w.-]+/g;

/** @param {{answer: Answer}} props */
export function Content({ answer: { response, body } }) {
  const [text, setText] = useState('');
  const kind = body.type;
  const isText = TEXT.test(kind);
  const isImage = IMAGE.test(kind);
  const url = useMemo(() => URL.createObjectURL(body), [body]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  useEffect(() => {
    if (isText) void body.slice(0, MAX_SHOWN).text().then(setText);
  }, [body]);
  const settled = decodeHeader(response.headers.get('payment-response'));
  const link = contentLink(response);
  return html`<section class="stack" aria-label="Content">
    <h2 aria-live="polite">${settled ? 'Paid' : 'No payment needed'}</h2>
    ${isHash(settled?.transaction) && html`<p>Transaction <${Hash} value=${settled.transaction} /></p>`}
    ${isText && html`<pre class="content panel" tabindex="0" role="region" aria-label="Paid content">${text}</pre>`}
    ${isText && body.size > MAX_SHOWN && html`<p class="muted">Only the beginning is shown. The file has everything.</p>`}
    ${isImage && html`<img class="content-image" src=${url} alt="Paid content" />`}
    <a class="button button-primary pay-button" href=${url} download=${fileName(response.url)}>Save the content</a>
    ${link && html`<a href=${link}>Open ${link}</a>`}
  </section>`;
}

/** Returns the address of the content if the response names one of its own site. @param {Response} response */
function contentLink(response) {
  const named = response.headers.get('content-location');
  if (named === null) return null;
  try {
    const url = new URL(named, response.url);
    return url.origin === window.location.origin ? url.href : null;
  } catch {
    return null;
  }
}

/** @param {string} url */
const fileName = (url) => (new URL(url).pathname.split('/').pop() ?? '').replaceAll(NAME, '_') || 'content';
