import { InvalidServiceResponse, isObject, NoServiceResponse, responseError } from "./errors.js";

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
  fetch?: typeof fetch;
  sleep?: (milliseconds: number) => Promise<void>;
  /** Monotonic clock. */
  now?: () => number;
  /** Source of random numbers from 0 to 1. */
  random?: () => number;
}

export interface RequestOptions {
  /** Ends the request and its retries. */
  signal?: AbortSignal;
}

export interface PostOptions extends RequestOptions {
  /** Unique per request; a new random one by default. */
  idempotencyKey?: string;
}

interface ServiceRequest {
  method: "GET" | "POST";
  path: string;
  body: string | null;
  idempotencyKey: string | null;
  accepts503: boolean;
  signal: AbortSignal | undefined;
}

const TEMPORARY = new Set([502, 503, 504]);

/** Sends requests, retries them with the same Idempotency-Key, and follows pages. */
export class Transport {
  readonly #url: string;
  readonly #apiKey: string;
  readonly #options: Required<ClientOptions>;

  constructor(url: string, apiKey: string, options: ClientOptions = {}) {
    const parsed = new URL(url);
    if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
      throw new TypeError(`url must begin with http:// or https://, got ${url}`);
    }
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError("apiKey must be a key that `foreseal pay keys create` printed");
    }
    this.#url = url.replace(/\/+$/, "");
    this.#apiKey = apiKey;
    this.#options = {
      timeout: 10_000,
      attempts: 5,
      firstDelay: 200,
      maxDelay: 5_000,
      maxElapsed: 60_000,
      fetch: (input, init) => fetch(input, init),
      sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
      now: () => performance.now(),
      random: Math.random,
      ...options,
    };
    if (!(this.#options.attempts >= 1)) {
      throw new RangeError(`attempts must be at least 1, got ${this.#options.attempts}`);
    }
  }

  protected async get<T>(path: string, query: object, options: RequestOptions, accepts503 = false): Promise<T> {
    const request = getRequest(path, query, options, accepts503);
    return parse<T>(request, await this.#send(request));
  }

  protected async post<T>(path: string, body: object, options: PostOptions): Promise<T> {
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    if (!/^[\x20-\x7e]{1,255}$/.test(idempotencyKey)) {
      throw new TypeError("idempotencyKey must have 1 to 255 printable ASCII characters");
    }
    const sent = JSON.stringify(body);
    const { signal } = options;
    const request: ServiceRequest = { method: "POST", path, body: sent, idempotencyKey, accepts503: false, signal };
    return parse<T>(request, await this.#send(request));
  }

  protected async *iterate<T>(path: string, query: object, options: RequestOptions): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const page: { items: T[]; next: string | null } = await this.get(path, { ...query, cursor }, options);
      yield* page.items;
      cursor = page.next;
    } while (cursor !== null);
  }

  protected async *stream(path: string, query: object, options: RequestOptions): AsyncGenerator<string> {
    const request = getRequest(path, query, options, false);
    const response = await this.#send(request);
    if (!response.ok) {
      await parse(request, response);
    }
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    try {
      for (let chunk = await reader?.read(); chunk !== undefined && !chunk.done; chunk = await reader?.read()) {
        yield decoder.decode(chunk.value, { stream: true });
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new NoServiceResponse(`GET ${path}: ${String(error)}`, null, { cause: error });
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
  }

  async #send(request: ServiceRequest): Promise<Response> {
    const { attempts, maxElapsed, now, sleep } = this.#options;
    const started = now();
    for (let failures = 1; ; failures += 1) {
      let response: Response | null = null;
      let failure: unknown = null;
      try {
        response = await this.#attempt(request);
      } catch (error) {
        request.signal?.throwIfAborted();
        failure = error;
      }
      if (response !== null && !isTemporary(request, response)) {
        return response;
      }
      const delay = this.#delay(failures, response);
      if (failures >= attempts || now() - started + delay > maxElapsed) {
        if (response !== null) {
          return response;
        }
        const message = `${request.method} ${request.path}: ${String(failure)}`;
        throw new NoServiceResponse(message, request.idempotencyKey, { cause: failure });
      }
      await response?.body?.cancel();
      await sleep(delay);
      request.signal?.throwIfAborted();
    }
  }

  /** Return a response whose body is complete, so that a lost body is retried; an export is streamed. */
  async #attempt(request: ServiceRequest): Promise<Response> {
    const limit = new AbortController();
    const { timeout } = this.#options;
    const timer = setTimeout(() => limit.abort(new Error(`no response within ${timeout} ms`)), timeout);
    const headers: Record<string, string> = { authorization: `Bearer ${this.#apiKey}` };
    if (request.idempotencyKey !== null) {
      headers["idempotency-key"] = request.idempotencyKey;
      headers["content-type"] = "application/json";
    }
    try {
      const response = await this.#options.fetch(this.#url + request.path, {
        method: request.method,
        headers,
        body: request.body,
        redirect: "manual",
        signal: request.signal === undefined ? limit.signal : AbortSignal.any([request.signal, limit.signal]),
      });
      const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
      if (!isJson) {
        return response;
      }
      const { status, headers: received } = response;
      return new Response(await response.text(), { status, headers: received });
    } finally {
      clearTimeout(timer);
    }
  }

  #delay(failures: number, response: Response | null): number {
    const { firstDelay, maxDelay, random } = this.#options;
    const longest = Math.min(firstDelay * 2 ** Math.min(failures - 1, 30), maxDelay);
    return Math.max(longest * (0.5 + random() / 2), response === null ? 0 : (retryAfter(response) ?? 0));
  }
}

/** Return a value as a segment of a path. Throws TypeError if no path can contain it. */
export function segment(value: string | number): string {
  const text = String(value);
  if (text === "" || text === "." || text === ".." || text.includes("/")) {
    throw new TypeError(`${JSON.stringify(text)} must be an id without "/"`);
  }
  return encodeURIComponent(text);
}

function getRequest(path: string, query: object, options: RequestOptions, accepts503: boolean): ServiceRequest {
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  const target = text === "" ? path : `${path}?${text}`;
  return { method: "GET", path: target, body: null, idempotencyKey: null, accepts503, signal: options.signal };
}

async function parse<T>(request: ServiceRequest, response: Response): Promise<T> {
  let body: unknown = null;
  try {
    body = await response.json();
  } catch (error) {
    if (!(error instanceof SyntaxError)) {
      const message = `${request.method} ${request.path}: ${String(error)}`;
      throw new NoServiceResponse(message, request.idempotencyKey, { cause: error });
    }
  }
  const isError = !isObject(body) || "error" in body;
  if (!response.ok && (isError || response.status !== 503 || !request.accepts503)) {
    throw responseError(response.status, body, request.idempotencyKey);
  }
  if (!isObject(body)) {
    throw new InvalidServiceResponse(`${request.method} ${request.path}: no JSON object`, request.idempotencyKey);
  }
  return body as T;
}

function isTemporary(request: ServiceRequest, response: Response): boolean {
  const isResult = response.status === 503 && request.accepts503;
  const inProgress = response.status === 409 && retryAfter(response) !== null;
  return !isResult && (inProgress || TEMPORARY.has(response.status));
}

/** Return the milliseconds of Retry-After; null without one. The service sends no dates. */
function retryAfter(response: Response): number | null {
  const text = response.headers.get("retry-after") ?? "";
  return /^\d+$/.test(text) ? Number(text) * 1000 : null;
}
