import { NoServiceResponse } from "./errors.js";

/** Options of a client; times are in milliseconds. */
export interface ClientOptions {
  /** Time limit of each attempt. Default 10,000. */
  timeout?: number;
  /** Maximum attempts. 1: no retries. Default 5. */
  attempts?: number;
  /** Maximum delay before the first retry; it doubles with each one. Default 200. */
  firstDelay?: number;
  /** Maximum delay before any retry, unless `Retry-After` is longer. Default 5,000. */
  maxDelay?: number;
  /** No attempt starts later than this after the first one. Default 60,000. */
  maxElapsed?: number;
  fetch?: Fetch;
  sleep?: (milliseconds: number) => Promise<void>;
  /** Monotonic clock. */
  now?: () => number;
  /** Source of random numbers from 0 to 1. */
  random?: () => number;
}

export type Fetch = (request: Request) => Promise<Response>;

export const HEALTH = "/healthz";
export const KEY = "Idempotency-Key";

const TEMPORARY = new Set([502, 503, 504]);

/** Return a `fetch` for the service at a URL that repeats a request. Throws RangeError for less than one attempt. */
export function retrying(url: string, options: ClientOptions): Fetch {
  const settings: Required<ClientOptions> = {
    timeout: 10_000,
    attempts: 5,
    firstDelay: 200,
    maxDelay: 5_000,
    maxElapsed: 60_000,
    fetch: (request) => fetch(request),
    sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    now: () => performance.now(),
    random: Math.random,
    ...options,
  };
  if (!(settings.attempts >= 1)) {
    throw new RangeError(`attempts must be at least 1, got ${settings.attempts}`);
  }
  const health = new URL(url + HEALTH).href;
  return (request) => send(request, settings, request.url === health);
}

async function send(request: Request, settings: Required<ClientOptions>, accepts503: boolean): Promise<Response> {
  const { attempts, maxElapsed, now, sleep } = settings;
  const started = now();
  for (let failures = 1; ; failures += 1) {
    let response: Response | null = null;
    let failure: unknown = null;
    try {
      response = await attempt(request, settings);
    } catch (error) {
      request.signal.throwIfAborted();
      failure = error;
    }
    if (response !== null && !isTemporary(response, accepts503)) {
      return response;
    }
    const delay = delayAfter(failures, response, settings);
    if (failures >= attempts || now() - started + delay > maxElapsed) {
      if (response !== null) {
        return response;
      }
      const message = `${request.method} ${request.url}: ${String(failure)}`;
      throw new NoServiceResponse(message, request.headers.get(KEY), { cause: failure });
    }
    await response?.body?.cancel();
    await sleep(delay);
    request.signal.throwIfAborted();
  }
}

/** Return a response whose body is complete, so that a lost body is retried; an export is streamed. */
async function attempt(request: Request, { fetch, timeout }: Required<ClientOptions>): Promise<Response> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no response within ${timeout} ms`)), timeout);
  try {
    // A request can be sent only once, and a retry needs its body.
    const signal = AbortSignal.any([request.signal, limit.signal]);
    const response = await fetch(new Request(request.clone(), { signal }));
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    if (!isJson) {
      return response;
    }
    const { status, headers } = response;
    return new Response(await response.text(), { status, headers });
  } finally {
    clearTimeout(timer);
  }
}

function delayAfter(failures: number, response: Response | null, settings: Required<ClientOptions>): number {
  const { firstDelay, maxDelay, random } = settings;
  const longest = Math.min(firstDelay * 2 ** Math.min(failures - 1, 30), maxDelay);
  return Math.max(longest * (0.5 + random() / 2), response === null ? 0 : (retryAfter(response) ?? 0));
}

function isTemporary(response: Response, accepts503: boolean): boolean {
  const isResult = response.status === 503 && accepts503;
  const inProgress = response.status === 409 && retryAfter(response) !== null;
  return !isResult && (inProgress || TEMPORARY.has(response.status));
}

/** Return the milliseconds of Retry-After; null without one. The service sends no dates. */
function retryAfter(response: Response): number | null {
  const text = response.headers.get("retry-after") ?? "";
  return /^\d+$/.test(text) ? Number(text) * 1000 : null;
}
