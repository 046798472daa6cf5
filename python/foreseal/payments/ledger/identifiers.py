"""The names that callers give to orders and refunds: any text that every database keeps as it is."""

from typing import Any

LONGEST = 200
"""Characters of a name (code points)."""


def identifier(value: Any, name: str = "id") -> str:
    """A name as it was given: nothing is folded, so names that differ in one bit are two.

    Raises TypeError if it is no text, ValueError if it is empty, too long, or has a NUL or half a character (a lone
    surrogate), which PostgreSQL does not store.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r} is a {type(value).__name__}: give a text")
    if not 0 < len(value) <= LONGEST:
        raise ValueError(f"{name}: has {len(value)} characters, not from 1 to {LONGEST}")
    if not is_storable(value):
        raise ValueError(f"{name}: {value!r} has a NUL or a lone surrogate")
    return value


def is_storable(text: str) -> bool:
    """Whether a text can be in the database at all."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)
