"""Calls that this caller may not make, now or at all."""

import math

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import codes

UNKNOWN, FORBIDDEN, TOO_MANY = 401, 403, 429


class Refused(RpcError):
    """A refusal by its HTTP status, which is that of the response when the call stands alone."""

    status: int
    seconds: int
    """After which the caller may try again; 0 where that does not help."""


def refused(status: int, code: int, message: str, data: bytes | None = None, seconds: int = 0) -> Refused:
    """A refusal. `data` is JSON."""
    error = Refused(code, message, data)
    error.status, error.seconds = status, seconds
    return error


def busy(limit: str, most: int, message: str) -> Refused:
    """The refusal of a call while `most` others of those that `limit` names are under way."""
    return refused(TOO_MANY, codes.LIMIT, message, orjson.dumps({"limit": limit, "max": most}), 1)


def too_fast(rate: str, calls: int, wait: int) -> Refused:
    """The refusal of a call for which `wait` us are missing, at a rate of so many calls, in words `rate`."""
    ms = math.ceil(wait / 1000)
    data = orjson.dumps({"limit": "rate", "max": calls, "retryAfterMs": ms})
    message = f"too many calls: {rate} are allowed; try again in {ms} ms"
    return refused(TOO_MANY, codes.LIMIT, message, data, math.ceil(wait / 1_000_000))


def cpu_exhausted(rate: int, burst: int, wait: int) -> Refused:
    """The refusal of a call of a caller that has used up its processor time; `wait` us until it has some again."""
    ms = math.ceil(wait / 1000)
    data = orjson.dumps({"limit": "cpu", "max": rate, "retryAfterMs": ms})
    message = f"processor time is used up: {rate} ms a second are allowed, {burst} ms at once; try again in {ms} ms"
    return refused(TOO_MANY, codes.LIMIT, message, data, math.ceil(wait / 1_000_000))


def as_refused(error: RpcError) -> RpcError:
    """Return a core's error as the refusal that it is, if the caller may try again after a time that it names."""
    code, message, data = error.args
    if code != codes.LIMIT or not data or b"retryAfterMs" not in data:
        return error
    return refused(TOO_MANY, code, message, data, math.ceil(orjson.loads(data)["retryAfterMs"] / 1000))
