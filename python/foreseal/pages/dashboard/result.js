// Result of the last movement of money, shown above the page until its reader leaves it.

import { html, useEffect, useState } from '../lib/components/ui.js';
import { router } from './context.js';

/** @typedef {{text: string, path: string}} Result */

/** @type {(result: Result) => void} */
let onResult = () => {};

/** Shows a result above the current page. @param {string} text */
export function showResult(text) {
  onResult({ text, path: router.location.path });
}

/** The region is always in the page, so that screen readers announce its change. @param {{path: string}} props */
export function ResultNotice({ path }) {
  const [result, setResult] = useState(/** @type {Result | null} */ (null));
  useEffect(() => {
    onResult = setResult;
    return () => {
      onResult = () => {};
    };
  }, []);
  useEffect(() => setResult((before) => (before?.path === path ? before : null)), [path]);
  return html`<div class="result" role="status" aria-label="Result">${result?.path === path
    && html`<p class="notice notice-good">${result.text}</p>`}</div>`;
}
