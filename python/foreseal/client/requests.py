"""One JSON-RPC call: what is asked, and how its answer is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from foreseal.client.place import Place
from foreseal.client.shapes import text
from foreseal.errors import RpcError

T = TypeVar("T")

_HASH_LENGTH = 66


@dataclass(frozen=True, slots=True)
class Position:
    """A step by where it is, whichever step that is by then."""

    number: int
    """Of the block."""
    index: int


BlockId = int | str | bytes | Place | Position
"""A block: its number; latest, pending, safe, finalized or earliest; its hash, or that of a step; a step's place or
position."""

Hex = str | bytes | bytearray
"""0x text, or the bytes themselves."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A call that can be executed, alone or in a batch."""

    method: str
    params: tuple[Any, ...]
    read: Callable[[Any], T]
    """Reads the result. Raises `NotUnderstood`, ValueError or TypeError."""
    repeatable: bool = True
    """Whether executing it twice does no more than once."""
    extra: float = 0.0
    """Seconds that the node may take beyond the client's time-out."""
    after_loss: "Callable[[RpcError], Request[T | None] | None] | None" = None
    """If the answer to an attempt was lost and the next one fails: asks whether it failed only because the lost one
    had worked. Its result, unless it is None, is that of the call."""


def data(value: Hex) -> str:
    """Bytes as 0x text; text as it is. Raises TypeError for anything else."""
    if isinstance(value, bytes | bytearray):
        return "0x" + value.hex()
    return text(value)


def block_id(block: BlockId) -> Any:
    """A block as parameters name it. Raises TypeError or ValueError."""
    match block:
        case Position(number, index):
            return {"blockNumber": hex(number), "flashblockIndex": hex(index)}
        case Place():
            return {"blockHash": block.hash}
        case bool():
            raise TypeError("block: a number, a name, a hash or a place, not a truth value")
        case int():
            if block < 0:
                raise ValueError("block: a number is 0 or more")
            return hex(block)
        case bytes():
            return {"blockHash": data(block)}
        case str() if len(block) == _HASH_LENGTH:
            return {"blockHash": block}
        case str():
            return block
    raise TypeError(f"block: a number, a name, a hash or a place, not {type(block).__name__}")


def block_hash(block: BlockId) -> str | None:
    """The hash that names the block; None if something else does."""
    named = block_id(block)
    return named.get("blockHash") if isinstance(named, dict) else None


def call_object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A call's fields as JSON: numbers as quantities, bytes as 0x text, None left out."""
    return {name: argument(value) for name, value in fields.items() if value is not None}


def argument(value: Any) -> Any:
    """A value as parameters have it: numbers as quantities, bytes as 0x text, places as cursors."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, bytes | bytearray):
        return data(value)
    if isinstance(value, Place):
        return value.to_json()
    if isinstance(value, Mapping):
        return call_object(value)
    if isinstance(value, list | tuple):
        return [argument(each) for each in value]
    return value
