// The order, kept current by requests that wait for a change.

import { isAbort } from '../lib/rpc.js';
import { CheckoutError } from './api.js';
import { failureOf } from './failures.js';

/** @typedef {import('./api.js').CheckoutClient} CheckoutClient */
/** @typedef {import('./api.js').CheckoutOrder} CheckoutOrder */
/** @typedef {import('./failures.js').Failure} Failure */

const ENDED = ['final', 'canceled', 'expired'];
const MAX_PAUSE = 15_000;
const FIRST_PAUSE = 1000;

/**
 * Reports the order at each change, and each failure to read it; null after a success.
 * @param {CheckoutClient} client
 * @param {(order: CheckoutOrder) => void} onOrder
 * @param {(failure: Failure | null) => void} onFailure
 * @returns {() => void} stops
 */
export function follow(client, onOrder, onFailure) {
  const controller = new AbortController();
  const { signal } = controller;
  const run = async () => {
    /** @type {string | null} */
    let version = null;
    let pause = FIRST_PAUSE;
    while (!signal.aborted) {
      try {
        const order = await client.order(version, signal);
        version = order.version;
        pause = FIRST_PAUSE;
        onFailure(null);
        onOrder(order);
        if (ENDED.includes(order.status)) return;
      } catch (error) {
        if (signal.aborted || isAbort(error)) return;
        onFailure(failureOf(error));
        if (error instanceof CheckoutError && error.code === 'not_found') return;
        const asked = error instanceof CheckoutError ? 1000 * error.retryAfter : 0;
        await sleep(Math.max(asked, pause), signal);
        pause = Math.min(MAX_PAUSE, 2 * pause);
        version = null;
      }
    }
  };
  void run();
  return () => controller.abort();
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
