"""One JSON-RPC call: its method, parameters and result type."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from foreseal.client.cursor import Cursor
from foreseal.client.json_model import text
from foreseal.errors import RpcError

T = TypeVar("T")

_HASH_LENGTH = 66


@dataclass(frozen=True, slots=True)
class Position:
    """A step by block number and index, regardless of its hash."""

    number: int
    """Block number."""
    index: int


BlockId = int | str | bytes | Cursor | Position
"""A block: number, tag (latest, pending, safe, finalized, earliest), block hash, step hash, `Cursor` or `Position`."""

Hex = str | bytes | bytearray
"""0x text, or the bytes themselves."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A call that can be executed, alone or in a batch."""

    method: str
    params: tuple[Any, ...]
    read: Callable[[Any], T]
    """Parser of the result. Raises `InvalidResponse`, ValueError or TypeError."""
    repeatable: bool = True
    """True if the call is idempotent."""
    extra: float = 0.0
    """Seconds that the node may use beyond the client's time limit."""
    after_loss: "Callable[[RpcError], Request[T | None] | None] | None" = None
    """Builds the request that checks if a lost attempt succeeded, or returns None.

    It is called if the response to an attempt was lost and the next attempt fails. A result of the request other than
    None becomes the result of the call.
    """


def data(value: Hex) -> str:
    """Return bytes as 0x text, and text unchanged. Raise TypeError for anything else."""
    if isinstance(value, bytes | bytearray):
        return "0x" + value.hex()
    return text(value)


def block_id(block: BlockId) -> Any:
    """Return a block in the form of a parameter. Raise TypeError or ValueError."""
    match block:
        case Position(number, index):
            return {"blockNumber": hex(number), "flashblockIndex": hex(index)}
        case Cursor():
            return {"blockHash": block.hash}
        case bool():
            raise TypeError("block must be a number, a tag, a hash or a cursor, got bool")
        case int():
            if block < 0:
                raise ValueError("block must be 0 or more")
            return hex(block)
        case bytes():
            return {"blockHash": data(block)}
        case str() if len(block) == _HASH_LENGTH:
            return {"blockHash": block}
        case str():
            return block
    raise TypeError(f"block must be a number, a tag, a hash or a cursor, got {type(block).__name__}")


def block_hash(block: BlockId) -> str | None:
    """Return the hash that identifies the block; None if it is identified otherwise."""
    named = block_id(block)
    return named.get("blockHash") if isinstance(named, dict) else None


def call_object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's fields as JSON: numbers as quantities, bytes as 0x text, without None."""
    return {name: argument(value) for name, value in fields.items() if value is not None}


def argument(value: Any) -> Any:
    """Return a value as a parameter: numbers as quantities, bytes as 0x text, `Cursor` as a cursor."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, bytes | bytearray):
        return data(value)
    if isinstance(value, Cursor):
        return value.to_json()
    if isinstance(value, Mapping):
        return call_object(value)
    if isinstance(value, list | tuple):
        return [argument(item) for item in value]
    return value
