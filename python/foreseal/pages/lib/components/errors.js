// States of loading: an error, nothing found, still loading.

import { AbiError } from '../abi/types.js';
import { RpcError, TimeoutError, TransportError } from '../rpc.js';
import { visibleText } from '../text.js';
import { html } from './ui.js';

const LIMITED = -32005;
const FORBIDDEN = -32004;
const NOT_FOUND = -32001;
const NO_METHOD = -32601;

/** Limits on the calls of one address in a time. */
const RATES = ['rate', 'cpu'];

/** @param {any} data */
const isRate = (data) => RATES.includes(data?.limit);

/**
 * Returns a sentence for people.
 * @param {unknown} error
 */
export function describeError(error) {
  if (error instanceof RpcError) {
    const message = visibleText(error.message, 400);
    if (error.code === FORBIDDEN) return `The node does not allow this call: ${message}`;
    if (error.code === NO_METHOD) return `The node does not serve this method: ${message}`;
    if (error.code === LIMITED && isRate(error.data)) {
      return 'The node limits how often this address may call it. Wait a moment; this page then continues.';
    }
    if (error.code === NOT_FOUND) return `The node does not have this: ${message}. It may be too old, or not exist.`;
    if (error.code === LIMITED) return `A limit of the node is exceeded: ${message}`;
    return `The node returned an error: ${message}`;
  }
  if (error instanceof TimeoutError) return `The node did not answer in time: ${error.message}.`;
  if (error instanceof TransportError) return `The node did not answer: ${error.message}.`;
  if (error instanceof AbiError) return error.message;
  return error instanceof Error ? visibleText(error.message, 400) : 'An unknown error occurred.';
}

/** @param {{error: unknown, onRetry?: () => void}} props */
export function ErrorNotice({ error, onRetry }) {
  return html`<div class="notice notice-error" role="alert">
    <p>${describeError(error)}</p>
    ${onRetry && html`<button type="button" class="button" onClick=${onRetry}>Try again</button>`}
  </div>`;
}

/** @param {{label?: string}} props */
export function Loading({ label = 'Loading' }) {
  return html`<p class="loading" role="status"><span class="loading-bar" aria-hidden="true"></span>${label}…</p>`;
}

/** @param {{children?: import('./ui.js').Child}} props */
export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

/**
 * Shows loaded data, or the state of loading.
 * @template T
 * @param {{request: import('./request.js').Loaded<T>, children: (data: T) => import('./ui.js').Child,
 *   label?: string}} props
 */
export function Loaded({ request, children, label }) {
  const { data, error, isLoading, reload } = request;
  if (data !== null) return html`${error && html`<${ErrorNotice} error=${error} onRetry=${reload} />`}${children(data)}`;
  if (error) return html`<${ErrorNotice} error=${error} onRetry=${reload} />`;
  return isLoading ? html`<${Loading} label=${label} />` : null;
}
