// JSON-RPC over HTTP. Calls of one task travel in one batch. Reads that the node rejects for a rate are repeated after
// the time that it names.

/** Error object of a response. */
export class RpcError extends Error {
  /** @override */
  name = 'RpcError';

  /** @param {{code?: unknown, message?: unknown, data?: unknown}} error */
  constructor({ code, message, data }) {
    super(typeof message === 'string' ? message : 'the node returned an error without a message');
    this.code = typeof code === 'number' ? code : 0;
    this.data = data;
  }

  /** Milliseconds after which the node accepts the call again, or null if it names none. */
  get retryAfterMs() {
    const { data } = this;
    const after = data !== null && typeof data === 'object' ? /** @type {any} */ (data).retryAfterMs : undefined;
    return typeof after === 'number' ? after : null;
  }
}

/** Error for a request without a valid response: the node is unreachable, or something else answered. */
export class TransportError extends Error {
  /** @override */
  name = 'TransportError';
}

/** Error for a request that took too long. */
export class TimeoutError extends Error {
  /** @override */
  name = 'TimeoutError';
}

/** @typedef {{method: string, params: readonly unknown[]}} Request */
/** @typedef {{signal?: AbortSignal | undefined, timeout?: number, alone?: boolean}} CallOptions */
/**
 * @typedef {Request & {id: number, attempts: number, timeout: number, settled: boolean,
 *   resolve: (result: any) => void, reject: (error: Error) => void}} Entry
 */
/** @typedef {(url: string, init: RequestInit) => Promise<Response>} Fetch */

const MAX_ATTEMPTS = 4;
const MAX_RETRY_WAIT = 5000;
const DEFAULT_TIMEOUT = 15_000;

/** Client of one node. */
export class RpcClient {
  /** @type {Entry[]} */
  #queue = [];
  #nextId = 1;
  #url;
  #fetch;
  #maxBatch;
  #timeout;

  /**
   * @param {string} url
   * @param {{fetch?: Fetch, maxBatch?: number, timeout?: number}} [options] timeout in milliseconds
   */
  constructor(url, { fetch = (...args) => globalThis.fetch(...args), maxBatch = 40, timeout = DEFAULT_TIMEOUT } = {}) {
    this.#url = url;
    this.#fetch = fetch;
    this.#maxBatch = maxBatch;
    this.#timeout = timeout;
  }

  /**
   * Calls a method. With `alone`, the call has a request of its own: use it for calls that take long.
   * @param {string} method
   * @param {readonly unknown[]} [params]
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  call(method, params = [], { signal, timeout = this.#timeout, alone = false } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortError());
        return;
      }
      /** @type {Entry} */
      const entry = { method, params, id: this.#nextId, attempts: 0, timeout, settled: false, resolve, reject };
      this.#nextId += 1;
      signal?.addEventListener('abort', () => settle(entry, abortError()), { once: true });
      if (alone) void this.#send([entry]);
      else this.#enqueue(entry);
    });
  }

  /** @param {Entry} entry */
  #enqueue(entry) {
    this.#queue.push(entry);
    if (this.#queue.length === 1) queueMicrotask(() => this.#flush());
  }

  #flush() {
    const entries = this.#queue.filter((entry) => !entry.settled);
    this.#queue = [];
    for (let start = 0; start < entries.length; start += this.#maxBatch) {
      void this.#send(entries.slice(start, start + this.#maxBatch));
    }
  }

  /** @param {Entry[]} entries */
  async #send(entries) {
    for (const entry of entries) entry.attempts += 1;
    const requests = entries.map(({ id, method, params }) => ({ jsonrpc: '2.0', id, method, params }));
    try {
      const timeout = Math.max(...entries.map((entry) => entry.timeout));
      const body = await this.#post(requests.length === 1 ? requests[0] : requests, timeout);
      const answers = new Map();
      for (const answer of Array.isArray(body) ? body : [body]) answers.set(answer?.id, answer);
      // An error of the whole request has the id null.
      for (const entry of entries) this.#deliver(entry, answers.get(entry.id) ?? answers.get(null));
    } catch (error) {
      for (const entry of entries) settle(entry, error instanceof Error ? error : new TransportError(String(error)));
    }
  }

  /** @param {unknown} request @param {number} timeout @returns {Promise<any>} */
  async #post(request, timeout) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeout);
    try {
      const response = await this.#fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
        signal: controller.signal,
        credentials: 'omit',
      });
      const text = await response.text();
      return parseBody(response.status, text);
    } catch (error) {
      if (controller.signal.aborted) throw new TimeoutError(`no response within ${timeout / 1000} s`);
      if (error instanceof TransportError) throw error;
      throw new TransportError('the node is not reachable');
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param {Entry} entry @param {any} answer */
  #deliver(entry, answer) {
    if (answer === null || typeof answer !== 'object') {
      settle(entry, new TransportError('the response has no answer to the call'));
    } else if (answer.error) {
      this.#fail(entry, new RpcError(answer.error));
    } else {
      entry.settled = true;
      entry.resolve(answer.result);
    }
  }

  /** @param {Entry} entry @param {RpcError} error */
  #fail(entry, error) {
    const wait = error.retryAfterMs;
    const repeats = wait !== null && wait <= MAX_RETRY_WAIT && entry.attempts < MAX_ATTEMPTS;
    if (!repeats || entry.method.startsWith('eth_send')) {
      settle(entry, error);
      return;
    }
    setTimeout(() => this.#enqueue(entry), wait);
  }
}

/** @param {Entry} entry @param {Error} error */
function settle(entry, error) {
  entry.settled = true;
  entry.reject(error);
}

/** @param {number} status @param {string} text */
function parseBody(status, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new TransportError(`the response has HTTP status ${status} and is not JSON`);
  }
}

const abortError = () => new DOMException('the call was cancelled', 'AbortError');

/** @param {unknown} error */
export const isAbort = (error) => error instanceof DOMException && error.name === 'AbortError';
