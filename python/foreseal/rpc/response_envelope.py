"""Errors of JSON-RPC 2.0 that the transport answers without the core."""

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import error_codes

NULL = b"null"


def failure(ident: bytes, error: RpcError) -> bytes:
    """Return the answer that carries an error."""
    code, message, data = error.args
    text = orjson.dumps(message)
    if data is None:
        return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b}}' % (ident, code, text)
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b,"data":%b}}' % (ident, code, text, data)


def over_limit(limit: str, maximum: int, message: str) -> RpcError:
    """Return the error of a request that exceeds the limit named `limit`."""
    return RpcError(error_codes.LIMIT, message, orjson.dumps({"limit": limit, "max": maximum}))
