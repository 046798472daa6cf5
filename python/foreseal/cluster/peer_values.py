"""Values in the JSON of another machine, which may be of any type."""

from collections.abc import Mapping
from typing import Any

_LARGEST = 2**63 - 1
_MAX_DIGITS = 16
_MAX_TEXT = 1000


def peer_text(value: Any) -> str:
    """Return a text, without lone surrogates and cut to 1000 characters; empty if it is none."""
    return value[:_MAX_TEXT].encode(errors="replace").decode() if isinstance(value, str) else ""


def peer_integer(value: Any) -> int | None:
    """Return an integer from 0 to 2**63 - 1; None if it is none."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and 0 <= value <= _LARGEST else None


def peer_quantity(value: Any) -> int | None:
    """Return the integer of a hex quantity, such as 0x1a; None if it is none."""
    if not isinstance(value, str) or not value.startswith("0x") or len(value) > 2 + _MAX_DIGITS:
        return None
    try:
        return peer_integer(int(value, 16))
    except ValueError:
        return None


def peer_object(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one if it is none."""
    return value if isinstance(value, dict) else {}


def peer_list(value: Any) -> list[Any]:
    """Return a list; an empty one if it is none."""
    return value if isinstance(value, list) else []
