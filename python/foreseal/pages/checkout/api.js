// Client of the service for one order. The client secret travels in a header, never in an address.

/**
 * @typedef {{id: string, status: string, version: string, merchant_name: string, description: string | null,
 *   amount: string, amount_shown: string, is_maximum: boolean,
 *   token: {address: string, symbol: string, decimals: number, name: string},
 *   network: {chain_id: number, name: string, rpc_url: string | null, explorer_url: string | null},
 *   payee: string, spender: string | null, payer: string | null, valid_before: number, pay_before: number, now: number,
 *   is_delayed: boolean, transaction_hash: string | null, chain_status: string, success_url: string | null,
 *   cancel_url: string | null, message_origins: string[], pretend_wallet: boolean}} CheckoutOrder
 */
/**
 * @typedef {{typed_data: any, payer: string, balance: string, balance_shown: string,
 *   is_sufficient: boolean}} CheckoutPayment
 */
/** @typedef {{order: CheckoutOrder, obstacle: string | null}} CheckoutAuthorized */

const WAIT_SECONDS = 20;
const TIMEOUT = 15_000;

/** Error of the service. `code` is that of the response, or `unreachable`. */
export class CheckoutError extends Error {
  /** @override */
  name = 'CheckoutError';

  /** @param {string} code @param {string} message @param {number} retryAfter seconds */
  constructor(code, message, retryAfter = 0) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

export class CheckoutClient {
  #base;
  #secret;

  /** @param {string} base address of the order below the service, such as `/v1/checkout/a` @param {string} secret */
  constructor(base, secret) {
    this.#base = base;
    this.#secret = secret;
  }

  /**
   * Returns the order. With a version, waits until the order has another one.
   * @param {string | null} version @param {AbortSignal} signal
   * @returns {Promise<CheckoutOrder>}
   */
  async order(version, signal) {
    const query = version === null ? '' : `?version=${encodeURIComponent(version)}&wait_seconds=${WAIT_SECONDS}`;
    const found = await this.#fetch(query, { signal }, TIMEOUT + (version === null ? 0 : 1000 * WAIT_SECONDS));
    return found.order;
  }

  /** @param {string} payer @returns {Promise<CheckoutPayment>} */
  payment(payer) {
    return this.#fetch(`/payment?payer=${encodeURIComponent(payer)}`, {}, TIMEOUT);
  }

  /** @param {string} payer @param {string} signature @returns {Promise<CheckoutAuthorized>} */
  authorize(payer, signature) {
    const init = { method: 'POST', body: JSON.stringify({ payer, signature }), headers: { 'content-type': 'application/json' } };
    return this.#fetch('/authorization', init, 2 * TIMEOUT);
  }

  /** @param {string} path @param {RequestInit} init @param {number} timeout @returns {Promise<any>} */
  async #fetch(path, init, timeout) {
    const headers = { ...init.headers, 'foreseal-client-secret': this.#secret };
    const signals = [AbortSignal.timeout(timeout), ...(init.signal ? [init.signal] : [])];
    let response;
    let body;
    try {
      response = await fetch(`${this.#base}${path}`, { ...init, headers, signal: AbortSignal.any(signals), credentials: 'omit' });
      body = await response.json();
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new CheckoutError('unreachable', 'the service did not respond');
    }
    if (response.ok) return body;
    const { code = 'unreachable', message = '' } = body?.error ?? {};
    throw new CheckoutError(String(code), String(message), Number(response.headers.get('retry-after')) || 0);
  }
}
