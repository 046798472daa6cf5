"""Envelopes of JSON-RPC 2.0: validation of requests, and answers as bytes.

The JSON bytes of a result are inserted unchanged.
"""

from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import codes

NULL = b"null"

_ABSENT = object()
_NO_PARAMS = b"[]"


class InvalidRequest(Exception):
    """A request that cannot be called. `ident` is the JSON of its id, None for a notification."""

    def __init__(self, ident: bytes | None, code: int, message: str) -> None:
        super().__init__(message)
        self.ident = ident
        self.error = RpcError(code, message, None)


def read_call(request: Any, source: bytes) -> tuple[bytes | None, str, bytes]:
    """Split a parsed request into the JSON of its id (None for a notification), its method and the JSON of its params.

    `source` is the body it was parsed from. Raises `InvalidRequest`.
    """
    if request.__class__ is not dict:
        raise InvalidRequest(NULL, codes.REQUEST, "the request must be an object")
    value = request.get("id", _ABSENT)
    kind = value.__class__
    ident: bytes | None
    if kind is int or kind is str or value is None:
        ident = orjson.dumps(value)
    else:
        ident = None if value is _ABSENT else _read_number(value, source)
    if request.get("jsonrpc") != "2.0":
        raise InvalidRequest(ident or NULL, codes.REQUEST, 'jsonrpc must be "2.0"')
    method = request.get("method")
    if method.__class__ is not str:
        raise InvalidRequest(ident or NULL, codes.REQUEST, "method must be a string")
    params = request.get("params", _ABSENT)
    if params.__class__ is list:
        return ident, method, orjson.dumps(params)
    if params is _ABSENT:
        return ident, method, _NO_PARAMS
    raise InvalidRequest(ident, codes.PARAMS, "params must be an array")


def _read_number(value: Any, source: bytes) -> bytes:
    """Return the JSON of a fractional id. Raises `InvalidRequest` for any other type of id."""
    if value.__class__ is not float:
        raise InvalidRequest(NULL, codes.REQUEST, "id must be a string, a number or null")
    # An integer beyond 64 bits or a long fraction was parsed as the nearest double and would come back changed.
    text = orjson.dumps(value)
    if text not in source:
        raise InvalidRequest(NULL, codes.REQUEST, "id must be a number that 64 bits hold")
    return text


def success(ident: bytes, result: bytes) -> bytes:
    """Return the answer that carries `result`, JSON bytes, to the request with `ident`."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (ident, result)


def failure(ident: bytes, error: RpcError) -> bytes:
    """Return the answer that carries an error."""
    code, message, data = error.args
    text = orjson.dumps(message)
    if data is None:
        return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b}}' % (ident, code, text)
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b,"data":%b}}' % (ident, code, text, data)


def over_limit(limit: str, most: int, message: str) -> RpcError:
    """Return the error of a request that exceeds the limit named `limit`."""
    return RpcError(codes.LIMIT, message, orjson.dumps({"limit": limit, "max": most}))


def count_values(body: bytes) -> int:
    """Return an upper bound of the number of JSON values in an unparsed body: its brackets and commas."""
    return body.count(b"[") + body.count(b"{") + body.count(b",")


def is_deeper(value: Any, depth: int) -> bool:
    """Return True if parsed JSON nests more than `depth` arrays and objects. Linear in its size, never recursive."""
    level = [value]
    for _ in range(depth + 1):
        level = [node for node in level if node.__class__ is list or node.__class__ is dict]
        if not level:
            return False
        level = [child for node in level for child in (node if node.__class__ is list else node.values())]
    return True
