"""Checked reading of JSON and texts of another machine: a wrong type is the same as an absent field."""

import math
from typing import Any

_MAX_QUANTITY = 2**256 - 1
_MAX_HEX = 66


def plain(value: Any, width: int = 80) -> str:
    """Return a text of at most `width` characters, with `?` for each that would control the terminal."""
    text = value if isinstance(value, str) else "-"
    shown = "".join(character if character.isprintable() else "?" for character in text[: width + 1])
    return shown if len(shown) <= width else f"{shown[: width - 1]}~"


def quantity(value: Any) -> int | None:
    """Return a non-negative integer, written as a number or as 0x hex; None for anything else."""
    if isinstance(value, str) and value.startswith("0x") and len(value) <= _MAX_HEX:
        try:
            return int(value, 16)
        except ValueError:
            return None
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and 0 <= value <= _MAX_QUANTITY else None


def number(value: Any) -> float | None:
    """Return a finite number; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MAX_QUANTITY
    return float(value) if is_number and math.isfinite(value) else None


class Fields:
    """Fields of a JSON object."""

    def __init__(self, value: Any) -> None:
        """Any other value than an object has no fields."""
        self._values: dict[str, Any] = value if isinstance(value, dict) else {}

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, width: int = 80) -> str:
        """Return a text that is safe to print; `-` if there is none."""
        return plain(self._values.get(name), width)

    def quantity(self, name: str) -> int | None:
        """Return a non-negative integer."""
        return quantity(self._values.get(name))

    def number(self, name: str) -> float | None:
        """Return a finite number."""
        return number(self._values.get(name))

    def flag(self, name: str) -> bool | None:
        """Return a boolean."""
        value = self._values.get(name)
        return value if isinstance(value, bool) else None

    def child(self, name: str) -> "Fields":
        """Return the fields of an object."""
        return Fields(self._values.get(name))

    def items(self, name: str, limit: int) -> "list[Fields]":
        """Return at most `limit` objects of a list."""
        value = self._values.get(name)
        return [Fields(each) for each in value[:limit]] if isinstance(value, list) else []

    def children(self, name: str, limit: int) -> "dict[str, Fields]":
        """Return at most `limit` objects of an object, by names that are safe to print."""
        value = self._values.get(name)
        entries = list(value.items())[:limit] if isinstance(value, dict) else []
        return {plain(key, 40): Fields(each) for key, each in entries}
