"""Conversion of JSON-RPC results and errors to the types and errors of this package."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from foreseal.client.errors import ClientError, ConnectionLost, TimedOut
from foreseal.errors import RpcError
from foreseal.payments.chain.errors import (
    ChainError,
    CircuitOpen,
    CodeTimeout,
    Incomplete,
    NodeUnavailable,
    NoFreeCall,
    NoResponse,
    RejectedByNode,
    Reverted,
    SlowCode,
    TooManyCalls,
)

_REVERTED = 3
# Messages of a call whose code fails, in lower case: those of geth, and what others begin theirs with.
_REVERTS = (
    "revert",
    "out of gas",
    "gas required exceeds allowance",
    "execution halted",
    "evm error",
    "invalid opcode",
    "invalid jump destination",
    "stack underflow",
    "stack limit reached",
    "write protection",
    "return data out of bounds",
    "gas uint64 overflow",
)
# Longest text of an error in characters, and revert data in bytes. A reason of the token has fewer than 100.
_MAX_TEXT, _MAX_DATA = 300, 4_096
_ERROR_STRING = bytes.fromhex("08c379a0")


@contextlib.contextmanager
def read_object(method: str) -> Iterator[None]:
    """Raise `Incomplete` if the answer lacks a field or has one of the wrong type."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Incomplete(f"{method}: invalid response: {error!r}") from error


def to_chain_error(method: str, error: RpcError | ClientError) -> ChainError:
    """Return the error of this package for an error of the client."""
    if isinstance(error, CircuitOpen):
        return NodeUnavailable(f"{method}: {error}", error.retry_after)
    if isinstance(error, NoFreeCall):
        return TooManyCalls(f"{method}: {error}", error.retry_after)
    if isinstance(error, SlowCode):
        return CodeTimeout(f"{method}: {error}")
    if isinstance(error, ConnectionLost | TimedOut):
        return NoResponse(f"{method}: {error}")
    if isinstance(error, ClientError):
        return Incomplete(f"{method}: {error}")
    if method in ("eth_call", "eth_estimateGas") and _is_revert(error):
        data = _revert_data(error.data)
        return Reverted(_shown(_reason(data) or error.message), data[:_MAX_DATA])
    return RejectedByNode(f"{method}: {_shown(error.message)} ({error.code})")


def _shown(text: str) -> str:
    """Return a text for messages and logs: a contract chooses its revert reason, and anybody may deploy one."""
    return "".join(each if each.isprintable() else "?" for each in text[:_MAX_TEXT])


def _is_revert(error: RpcError) -> bool:
    message = error.message.lower()
    return error.code == _REVERTED or any(text in message for text in _REVERTS)


def _revert_data(data: bytes | None) -> bytes:
    """Return the revert data; nodes send it as a string or inside an object."""
    revert = None if data is None else orjson.loads(data)
    if isinstance(revert, Mapping):
        revert = revert.get("data")
    try:
        return hex_bytes(revert)
    except (Incomplete, ValueError):
        return b""


def _reason(data: bytes) -> str | None:
    if not data.startswith(_ERROR_STRING):
        return None
    try:
        return str(decode(["string"], data[len(_ERROR_STRING) :])[0])
    except (DecodingError, UnicodeDecodeError):
        return None


def _read(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    def checked(value: object) -> object:
        if not isinstance(value, str) or not value.startswith("0x"):
            raise Incomplete(f"{value!r} is not a 0x string")
        try:
            return read(value)
        except ValueError:
            raise Incomplete(f"{value!r} is not hexadecimal") from None

    return checked


hex_number: Callable[[object], int] = _read(lambda text: int(text, 16))
"""Converts a 0x quantity."""
hex_bytes: Callable[[object], bytes] = _read(lambda text: bytes.fromhex(text[2:]))
"""Converts 0x bytes."""
