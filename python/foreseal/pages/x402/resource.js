// The resource of this page: its demand, and its content once it is paid.

import { visibleText } from '../lib/text.js';
import { readDemand } from './requirements.js';

/** @typedef {import('./requirements.js').Demand} Demand */
/** @typedef {import('./requirements.js').SellerDetails} SellerDetails */
/** @typedef {{response: Response, body: Blob}} Answer */

const TIMEOUT = 60_000;
const MAX_ATTEMPTS = 6;
const MAX_PAUSE = 15;
const PAYMENT_REQUIRED = 402;
// The outcome is open: the same payment again gets the stored response, and is never charged twice.
const OPEN = [409, 429, 502, 503, 504];
/** Seller's details, two folders above this file: PATH/static/x402/resource.js. */
const DETAILS = new URL('../../details.json', import.meta.url);

/** Failure of a payment. `code` selects the sentence. */
export class PaymentError extends Error {
  /** @override */
  name = 'PaymentError';

  /** @param {string} code @param {string} [detail] */
  constructor(code, detail = '') {
    super(detail || code);
    this.code = code;
    this.detail = detail;
  }
}

/** A paid resource. Payments are stored for this tab, so that a reload repeats the same payment. */
export class PaidResource {
  #url;
  #key;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
    this.#key = `x402 ${url}`;
  }

  /** Returns the payment that this tab has signed, or null. */
  get payment() {
    return sessionStorage.getItem(this.#key);
  }

  /** @param {string | null} header */
  set payment(header) {
    if (header === null) sessionStorage.removeItem(this.#key);
    else sessionStorage.setItem(this.#key, header);
  }

  /**
   * Returns the demand, or the content of a resource that is free. Raises `PaymentError`.
   * @returns {Promise<{demand: Demand} | {answer: Answer}>}
   */
  async demand() {
    const answer = await this.#fetch({ accept: 'application/json' });
    const { response, body } = answer;
    if (response.ok) return { answer };
    if (response.status !== PAYMENT_REQUIRED) throw new PaymentError('unavailable', String(response.status));
    const found = readDemand(await json(body), secondsOf(response));
    if (found === null) throw new PaymentError('no_option');
    return { demand: found };
  }

  /**
   * Repeats the request with the stored payment until its outcome is known. Raises `PaymentError`.
   * @returns {Promise<Answer>}
   */
  async content() {
    const header = this.payment;
    if (header === null) throw new PaymentError('unpaid');
    for (let attempt = 1; ; attempt += 1) {
      /** @type {Answer | null} */
      let answer = null;
      try {
        answer = await this.#fetch({ accept: '*/*', 'payment-signature': header });
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS) throw error;
      }
      if (answer !== null && !OPEN.includes(answer.response.status)) return this.#decided(answer);
      if (attempt >= MAX_ATTEMPTS) throw new PaymentError('undecided');
      const asked = Number(answer?.response.headers.get('retry-after')) || 1;
      await new Promise((resolve) => { setTimeout(resolve, 1000 * Math.min(MAX_PAUSE, Math.max(1, asked))); });
    }
  }

  /** @param {Answer} answer */
  async #decided(answer) {
    const { response, body } = answer;
    if (!response.ok) this.payment = null;
    if (response.status === PAYMENT_REQUIRED || response.status === 400) {
      throw new PaymentError('refused', visibleText(String((await json(body))?.error ?? 'no reason'), 200));
    }
    if (!response.ok) throw new PaymentError('not_charged', String(response.status));
    return answer;
  }

  /** @param {Record<string, string>} headers @returns {Promise<Answer>} */
  async #fetch(headers) {
    try {
      const response = await fetch(this.#url, { headers, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT) });
      return { response, body: await response.blob() };
    } catch {
      throw new PaymentError('unreachable');
    }
  }
}

/** Returns what the seller shows of itself, or null. @returns {Promise<SellerDetails | null>} */
export async function fetchDetails() {
  try {
    const response = await fetch(DETAILS, { signal: AbortSignal.timeout(TIMEOUT) });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** @param {Blob} body */
async function json(body) {
  try {
    return JSON.parse(await body.text());
  } catch {
    return null;
  }
}

/** Returns the seller's time, because the clock of the browser may be wrong. @param {Response} response */
function secondsOf(response) {
  const date = Date.parse(response.headers.get('date') ?? '');
  return Math.floor((Number.isNaN(date) ? Date.now() : date) / 1000);
}
