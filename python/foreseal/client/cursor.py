"""The position of a step."""

from dataclasses import dataclass
from typing import Any, Self

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Cursor:
    """A step by block number, index and hash: the cursor to resume a feed from."""

    block: int
    index: int
    hash: str

    def to_json(self) -> dict[str, str]:
        """Return the JSON form for storage and requests; `Cursor.read` parses it."""
        return {"block": hex(self.block), "index": hex(self.index), "hash": self.hash}

    @classmethod
    def read(cls, value: Any) -> Self:
        """Parse the result of `to_json`. Raise ValueError."""
        try:
            return cls(int(value["block"], 16), int(value["index"], 16), str(value["hash"]))
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"not a cursor: {repr(value)[:_SHOWN]}") from None


def checked_cursor(cursor: Any) -> Cursor:
    """Return the cursor. Raise TypeError if it is not a `Cursor`, for example its JSON form."""
    if not isinstance(cursor, Cursor):
        raise TypeError(f"cursor must be a Cursor (Cursor.read parses a saved one), got {type(cursor).__name__}")
    return cursor
