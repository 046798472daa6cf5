"""Fields of request bodies and query parameters: parsers and JSON Schema."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from foreseal.payments.amounts import check_amount
from foreseal.payments.api.errors import ApiError
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.typed_data import address, bytes32

_DIGITS = re.compile(r"0|[1-9][0-9]{0,77}")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_NAME = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
# Maximum bytes of a signature; contract wallets produce long ones.
_LONGEST_SIGNATURE = 8_192
LARGEST_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FieldKind:
    """A type of values."""

    read: Callable[[Any], Any]
    """Parser of a JSON or query value. Raises ValueError and TypeError that describe the problem."""
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a body or a query parameter. An optional one is None if absent."""

    name: str
    kind: FieldKind
    meaning: str
    required: bool = False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} must be a string")
    return value


def _amount(value: Any) -> int:
    if not isinstance(value, str):
        kind = type(value).__name__
        raise TypeError(f"must be a string of whole smallest units, such as '1250000', got {kind}")
    if _DIGITS.fullmatch(value) is None:
        raise ValueError(f"{value!r} must be a whole number of smallest units")
    if value == "0":
        raise ValueError("must not be 0")
    return check_amount(int(value))


def _id(value: Any) -> str:
    if _NAME.fullmatch(_text(value)) is None:
        raise ValueError(f"{value!r} is not a valid id: use 1 to 200 printable ASCII characters")
    if "/" in value:
        raise ValueError(f"{value!r} must not contain a slash")
    return str(value)


def _hex(value: Any) -> bytes:
    if _HEX.fullmatch(_text(value)) is None:
        raise ValueError(f"{value[:80]!r} must be 0x hex")
    if len(value) > 2 + 2 * _LONGEST_SIGNATURE:
        raise ValueError(f"must have at most {_LONGEST_SIGNATURE} bytes")
    return bytes.fromhex(value[2:])


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} must be true or false")
    return value


def integer_field(minimum: int, maximum: int) -> FieldKind:
    """Return the kind of an integer; in a query, its decimal digits."""

    def read(value: Any) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{value!r} must be a whole number")
        if not minimum <= value <= maximum:
            raise ValueError(f"{value} must be between {minimum} and {maximum}")
        return value

    return FieldKind(read, {"type": "integer", "minimum": minimum, "maximum": maximum})


def choice_field(choices: Sequence[str]) -> FieldKind:
    """Return the kind of a fixed set of strings."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} must be one of {', '.join(choices)}")
        return str(value)

    return FieldKind(read, {"type": "string", "enum": list(choices)})


def short_text_field(max_length: int) -> FieldKind:
    """Return the kind of a string with at most `max_length` characters."""

    def read(value: Any) -> str:
        if len(_text(value)) > max_length:
            raise ValueError(f"must have at most {max_length} characters")
        if not is_storable(value):
            raise ValueError("must not contain NUL or a lone surrogate")
        return str(value)

    return FieldKind(read, {"type": "string", "maxLength": max_length})


def list_field(fields: Sequence[Field], max_items: int) -> FieldKind:
    """Return the kind of a list of objects."""

    def read(value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not 1 <= len(value) <= max_items:
            raise ValueError(f"must be a list of 1 to {max_items} objects")
        return [parse_fields(fields, item, f"[{number}].") for number, item in enumerate(value)]

    return FieldKind(read, {"type": "array", "minItems": 1, "maxItems": max_items, "items": build_schema(fields)})


AMOUNT = FieldKind(_amount, {"type": "string", "pattern": "^[1-9][0-9]{0,77}$"})
ADDRESS = FieldKind(
    lambda value: address(_text(value), "address"), {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}
)
BYTES32 = FieldKind(
    lambda value: bytes32(_text(value), "value"), {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{64}$"}
)
HEX = FieldKind(_hex, {"type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$"})
ID = FieldKind(_id, {"type": "string", "minLength": 1, "maxLength": 200})
FLAG = FieldKind(_flag, {"type": "boolean"})
TIME = integer_field(0, LARGEST_TIME)
TEXT = short_text_field(500)


def parse_fields(fields: Sequence[Field], raw: Any, location: str = "") -> dict[str, Any]:
    """Return the values of an object by name. Raises `ApiError` 400 with the field at fault."""
    if not isinstance(raw, Mapping):
        argument = location.rstrip(".")
        subject = f"{argument}:" if argument else "the body"
        raise ApiError(400, "invalid_body", f"{subject} must be an object, got {raw!r}", argument or None)
    fields_by_name = {field.name: field for field in fields}
    for name in raw:
        if name not in fields_by_name:
            message = f"{location}{name}: unknown field, expected {', '.join(fields_by_name) or 'no fields'}"
            raise ApiError(400, "unknown_field", message, f"{location}{name}")
    found: dict[str, Any] = {}
    for name, field in fields_by_name.items():
        value = raw.get(name)
        if value is None:
            if field.required:
                raise ApiError(
                    400, "missing_field", f"{location}{name} is missing: {field.meaning}", f"{location}{name}"
                )
            found[name] = None
            continue
        try:
            found[name] = field.kind.read(value)
        except ApiError as error:
            inside = f"{location}{name}{error.argument or ''}"
            raise ApiError(error.status, error.code, f"{location}{name}{error.message}", inside) from None
        except (TypeError, ValueError) as error:
            raise ApiError(400, "invalid_value", f"{location}{name}: {error}", f"{location}{name}") from None
    return found


def parse_body(fields: Sequence[Field], raw: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the values of a JSON body, and the body in canonical form. Raises `ApiError` 400."""
    try:
        document = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise ApiError(400, "invalid_body", f"the body is not JSON: {error}") from None
    # orjson returns the last of several members with one name; another reader of the body may take the first.
    try:
        json.loads(raw or b"{}", object_pairs_hook=_reject_duplicates)
    except (RecursionError, ValueError):
        raise ApiError(400, "invalid_body", "the body is nested too deeply, or a number has too many digits") from None
    return parse_fields(fields, document), orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def _reject_duplicates(members: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in members]
    if len(set(names)) != len(names):
        name = next(name for index, name in enumerate(names) if name in names[:index])
        raise ApiError(400, "duplicate_field", f"{name}: the field occurs more than once", name)


def build_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these fields."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": {field.name: {**field.kind.schema, "description": field.meaning} for field in fields},
        "additionalProperties": False,
    }
    required = [field.name for field in fields if field.required]
    return found | ({"required": required} if required else {})
