import type { ErrorBody } from "./api.js";

/** Base class of the errors. */
export class MerchantError extends Error {
  /** Idempotency-Key of the POST; null for a GET. */
  readonly idempotencyKey: string | null;

  constructor(message: string, idempotencyKey: string | null, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.idempotencyKey = idempotencyKey;
  }
}

/** The service did not respond. The outcome of a POST is unknown until it is repeated with the same key. */
export class NoServiceResponse extends MerchantError {}

/** The response is not from this API, for example from a proxy. */
export class InvalidServiceResponse extends MerchantError {}

/** An error response. */
export class RequestFailed extends MerchantError {
  /** HTTP status. */
  readonly status: number;
  /** Code of the error, such as `not_capturable`. */
  readonly code: string;
  /** The field, parameter or header at fault. */
  readonly argument: string | null;
  /** Obstacle to a capture, as a code. */
  readonly reason: string | null;

  constructor(status: number, body: ErrorBody, idempotencyKey: string | null) {
    super(body.message, idempotencyKey);
    this.status = status;
    this.code = body.code;
    this.argument = body.argument;
    this.reason = body.reason;
  }

  /** True if the same request with the same key may succeed later. */
  get isTemporary(): boolean {
    return this.status >= 500;
  }
}

/** Return the error for a response that is not a success; `body` is its JSON, or null if it has none. */
export function responseError(status: number, body: unknown, idempotencyKey: string | null): MerchantError {
  const error = isObject(body) ? body["error"] : undefined;
  if (isObject(error) && typeof error["code"] === "string" && typeof error["message"] === "string") {
    const { code, message, argument, reason } = error;
    const found = { code, message, argument: textOrNull(argument), reason: textOrNull(reason) };
    return new RequestFailed(status, found, idempotencyKey);
  }
  if (status >= 502 && status <= 504) {
    const message = "the response has no error of this API";
    return new RequestFailed(status, { code: "unavailable", message, argument: null, reason: null }, idempotencyKey);
  }
  return new InvalidServiceResponse(`status ${status} without an error of this API`, idempotencyKey);
}

/** Return true if a value is an object of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
