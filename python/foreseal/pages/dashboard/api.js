// Requests to the service with the cookie of the session, which scripts cannot read.

/** @typedef {import('./types.js').Session} Session */

const PENDING = 'in_progress';

/** Path below which the service is: empty, or that of a merchant. */
export const ROOT = new URL(import.meta.url).pathname.split('/dashboard/static/')[0] ?? '';

/** Error response of the service. */
export class ServiceError extends Error {
  /** @override */
  name = 'ServiceError';

  /**
   * @param {number} status
   * @param {{code: string, message: string, argument: string | null, reason: string | null}} error
   */
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.argument = error.argument;
    this.reason = error.reason;
  }

  /** True if the same request may succeed later. */
  get isTemporary() {
    return this.status >= 500 || this.code === PENDING;
  }
}

/** @type {Session | null} */
let session = null;
/** @type {(session: Session | null) => void} */
let onSession = () => {};

/** Returns the session. Only pages for signed-in users call it. @returns {Session} */
export function currentSession() {
  if (session === null) throw new Error('there is no session');
  return session;
}

/** Returns true if the session may send a request, such as `POST /v1/payouts`. @param {string} permission */
export const may = (permission) => session !== null && session.permissions.includes(permission);

/** @param {(session: Session | null) => void} listener */
export function watchSession(listener) {
  onSession = listener;
}

/** @param {Session | null} found */
function setSession(found) {
  session = found;
  onSession(found);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, key?: string, signal?: AbortSignal | undefined, isBackground?: boolean}} [options]
 * @returns {Promise<unknown>}
 */
async function send(method, path, { body, key, signal, isBackground = false } = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (key !== undefined) headers['idempotency-key'] = key;
  if (method !== 'GET' && session !== null) headers['x-csrf-token'] = session.csrf_token;
  if (isBackground) headers['x-background'] = '1';
  let response;
  try {
    response = await fetch(ROOT + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      redirect: 'error',
      cache: 'no-store',
    });
  } catch (error) {
    if (error instanceof DOMException) throw error;
    throw new Error('The service did not answer. Check the connection, and try again.');
  }
  const value = await response.json().catch((/** @type {unknown} */ error) => {
    // A page that is being left ends its requests.
    if (response.ok) throw error;
    return null;
  });
  if (response.ok || (path === '/healthz' && response.status === 503 && value?.status !== undefined)) return value;
  if (response.status === 401 && path !== SESSION) setSession(null);
  throw new ServiceError(response.status, value?.error ?? {
    code: 'invalid_response', message: `The service answered with status ${response.status}.`, argument: null, reason: null,
  });
}

const SESSION = '/dashboard/api/session';

/** Reads the session of the browser. */
export async function loadSession() {
  setSession(/** @type {Session | null} */ (await send('GET', SESSION)));
}

/** @param {string} key */
export async function signIn(key) {
  setSession(/** @type {Session} */ (await send('POST', SESSION, { body: { key } })));
}

export async function signOut() {
  await send('DELETE', SESSION);
  setSession(null);
}

/**
 * @template T
 * @param {string} path
 * @param {{signal?: AbortSignal, isBackground?: boolean}} [options]
 * @returns {Promise<T>}
 */
export const get = (path, options = {}) => /** @type {Promise<T>} */ (send('GET', path, options));

/**
 * Sends a request that changes nothing although it has a body, such as the preview of a payout.
 * @template T
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
export const check = (path, body, signal) => /** @type {Promise<T>} */ (send('POST', path, { body, signal }));

/**
 * Returns a query string; empty values are left out.
 * @param {Record<string, string | number | null | undefined>} values
 */
export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') found.set(name, String(value));
  }
  const text = found.toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * One change that a user confirms. Sending it again after a lost answer has no second effect: the Idempotency-Key stays
 * the same until the service has answered or the change is another one.
 */
export class Change {
  #key = crypto.randomUUID();
  #sent = '';

  /**
   * @template T
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<T>}
   */
  async send(path, body = {}) {
    const sent = path + JSON.stringify(body);
    if (this.#sent !== '' && this.#sent !== sent) this.#key = crypto.randomUUID();
    this.#sent = sent;
    try {
      const answer = /** @type {T} */ (await send('POST', path, { body, key: this.#key }));
      this.#renew();
      return answer;
    } catch (error) {
      if (error instanceof ServiceError && !error.isTemporary) this.#renew();
      throw error;
    }
  }

  #renew() {
    this.#key = crypto.randomUUID();
    this.#sent = '';
  }
}

/** @param {string} text */
export const segment = (text) => encodeURIComponent(text);
