"""Types of the values in requests. Amounts are decimal strings; no value of another JSON type is converted."""

import re
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, FailFast, Field, PlainValidator, WithJsonSchema

from foreseal.payments.amounts import check_amount
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.validation import ParsedText

_DIGITS = re.compile(r"0|[1-9][0-9]{0,77}")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_NAME = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
# Maximum bytes of a signature; contract wallets produce long ones.
_LONGEST_SIGNATURE = 8_192
# Limits of an order's metadata.
_MAX_ENTRIES = 50
_LONGEST_KEY = 40
_LONGEST_VALUE = 500
LARGEST_TIME = 2**63 - 1
LARGEST_ID = 2**31 - 1
"""Largest id of a numbered row."""

T = TypeVar("T")


def _amount(text: str) -> int:
    if _DIGITS.fullmatch(text) is None:
        raise ValueError(f"{text!r} must be a whole number of smallest units")
    if text == "0":
        raise ValueError("must not be 0")
    return check_amount(int(text))


def _id(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a valid id: use 1 to 200 printable ASCII characters")
    if "/" in text:
        raise ValueError(f"{text!r} must not contain a slash")
    return text


def _hex(text: str) -> bytes:
    if _HEX.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} must be 0x hex")
    if len(text) > 2 + 2 * _LONGEST_SIGNATURE:
        raise ValueError(f"must have at most {_LONGEST_SIGNATURE} bytes")
    return bytes.fromhex(text[2:])


def _digits(value: object) -> object:
    """Convert the decimal digits of a path or query to an integer; return any other value unchanged."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value


def _metadata(value: object) -> dict[str, str]:
    """Return an object of texts. One error covers all of it, so that a key never occurs as the name of a field."""
    if not isinstance(value, dict):
        raise ValueError("must be an object of texts")  # noqa: TRY004
    _require(len(value) <= _MAX_ENTRIES, f"must have at most {_MAX_ENTRIES} entries")
    for name, text in value.items():
        valid = 0 < len(name) <= _LONGEST_KEY and is_storable(name)
        _require(valid, f"the key {name[:_LONGEST_KEY]!r} must have 1 to {_LONGEST_KEY} characters and no NUL")
        _require(isinstance(text, str), f"the value of {name!r} must be a string")
        valid = len(text) <= _LONGEST_VALUE and is_storable(text)
        _require(valid, f"the value of {name!r} must have at most {_LONGEST_VALUE} characters and no NUL")
    metadata: dict[str, str] = value
    return metadata


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def limited_text(max_length: int, min_length: int = 0) -> ParsedText:
    """Return the annotation of a string with `min_length` to `max_length` characters."""

    def parse(text: str) -> str:
        if len(text) < min_length:
            raise ValueError(f"must have at least {min_length} character{'' if min_length == 1 else 's'}")
        if len(text) > max_length:
            raise ValueError(f"must have at most {max_length} characters")
        if not is_storable(text):
            raise ValueError("must not contain NUL or a lone surrogate")
        return text

    shortest = {"minLength": min_length} if min_length else {}
    return ParsedText(parse, {"type": "string", **shortest, "maxLength": max_length})


Amount = Annotated[
    int,
    ParsedText(
        _amount,
        {"type": "string", "pattern": "^[1-9][0-9]{0,77}$", "examples": ["1250000"]},
        "a string of whole smallest units, such as '1250000'",
    ),
]
"""Positive amount in smallest units."""
ObjectId = Annotated[str, ParsedText(_id, {"type": "string", "minLength": 1, "maxLength": 200})]
Signature = Annotated[bytes, ParsedText(_hex, {"type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$"})]
ShortText = Annotated[str, limited_text(500)]
Reference = Annotated[str, limited_text(200, min_length=1)]
"""Name of an object in the merchant's own system."""
ReturnUrl = Annotated[str, limited_text(2_000, min_length=1)]
"""Page of the shop, on an origin of the configuration."""
Metadata = Annotated[
    dict[str, str],
    PlainValidator(_metadata),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": _MAX_ENTRIES,
            "propertyNames": {"minLength": 1, "maxLength": _LONGEST_KEY},
            "additionalProperties": {"type": "string", "maxLength": _LONGEST_VALUE},
        }
    ),
]
"""The merchant's own data: texts by name."""
DestinationText = Annotated[str, limited_text(40, min_length=1)]
"""Name of a destination."""
Time = Annotated[int, Field(ge=0, le=LARGEST_TIME)]
"""Unix time in seconds."""
EndTime = Annotated[int, Field(ge=1, le=LARGEST_TIME)]
"""Unix time in seconds, at which something ends."""
Digits = BeforeValidator(_digits)
"""Annotation of an integer in a path or query."""
Selected = Annotated[T, Field(strict=False)]
"""Member of an enumeration, from its value."""
Items = Annotated[list[T], Field(min_length=1), FailFast()]
"""List with at least one item. Only its first invalid item is reported."""
