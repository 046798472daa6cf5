import type { Middleware } from "openapi-fetch";

import { InvalidServiceResponse, isObject, responseError } from "./errors.js";
import { HEALTH, KEY } from "./retries.js";

/** Adds a random Idempotency-Key to a POST without one. */
export const idempotency: Middleware = {
  onRequest({ request }) {
    if (request.method !== "POST") {
      return;
    }
    if (!request.headers.has(KEY)) {
      request.headers.set(KEY, crypto.randomUUID());
    }
    if (!/^[\x20-\x7e]{1,255}$/.test(request.headers.get(KEY) ?? "")) {
      throw new TypeError(`${KEY} must have 1 to 255 printable ASCII characters`);
    }
  },
};

/** Throws for a response that is an error, or that is not from this API. */
export const errors: Middleware = {
  async onResponse({ request, response, schemaPath, options }) {
    if (response.ok && options.parseAs === "stream") {
      return undefined;
    }
    const body: unknown = await response.clone().json().catch(() => null);
    const key = request.headers.get(KEY);
    // An unhealthy service is a result.
    if (response.status === 503 && schemaPath === HEALTH && isObject(body) && !("error" in body)) {
      return Response.json(body);
    }
    if (!response.ok) {
      throw responseError(response.status, body, key);
    }
    if (!isObject(body)) {
      throw new InvalidServiceResponse(`${request.method} ${request.url}: no JSON object`, key);
    }
    return undefined;
  },
};
