"""Rejections of calls that this caller may not make, now or at all."""

import math

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import error_codes

UNKNOWN, FORBIDDEN, TOO_MANY = 401, 403, 429


class RejectedCall(RpcError):
    """A rejection with its HTTP status, which the response has if the call stands alone."""

    status: int
    seconds: int
    """Seconds after which the caller may retry; 0 if retrying does not help."""


def rejected(status: int, code: int, message: str, data: bytes | None = None, seconds: int = 0) -> RejectedCall:
    """Return a rejection. `data` is JSON."""
    error = RejectedCall(code, message, data)
    error.status, error.seconds = status, seconds
    return error


def busy(limit: str, maximum: int, message: str) -> RejectedCall:
    """Return the rejection of a call while `maximum` others that `limit` names are in progress."""
    return rejected(TOO_MANY, error_codes.LIMIT, message, orjson.dumps({"limit": limit, "max": maximum}), 1)


def rate_exceeded(rate: str, calls: int, wait: int) -> RejectedCall:
    """Return the rejection of a call for `wait` us, at a rate of `calls` calls; `rate` is its text for people."""
    ms = math.ceil(wait / 1000)
    data = orjson.dumps({"limit": "rate", "max": calls, "retryAfterMs": ms})
    message = f"rate limit exceeded: {rate}; try again in {ms} ms"
    return rejected(TOO_MANY, error_codes.LIMIT, message, data, math.ceil(wait / 1_000_000))


def cpu_exhausted(rate: int, burst: int, wait: int) -> RejectedCall:
    """Return the rejection of a call whose caller has used up its processor time for `wait` us."""
    ms = math.ceil(wait / 1000)
    data = orjson.dumps({"limit": "cpu", "max": rate, "retryAfterMs": ms})
    message = f"processor time is used up: {rate} ms a second are allowed, {burst} ms at once; try again in {ms} ms"
    return rejected(TOO_MANY, error_codes.LIMIT, message, data, math.ceil(wait / 1_000_000))
