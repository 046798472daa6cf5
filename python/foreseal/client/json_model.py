"""Typed results from JSON: the annotations of a class define its fields and their parsers.

A field `block_number: int` is read from `blockNumber`, a quantity as 0x text or a plain number. `str` is used
unchanged: hashes, addresses and data stay lower-case 0x text. `X | None` may be absent or null. Unknown fields are
ignored, so that a newer node can send more.
"""

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, Self, TypeVar

from foreseal.client.errors import InvalidResponse

T = TypeVar("T")

JsonReader = Callable[[Any], Any]

_FIELDS_CACHE: dict[type, tuple["_Field", ...]] = {}

# Maximum characters of a wrong value in an error message.
_SHOWN = 80


class _Field(NamedTuple):
    """JSON key and parser of a field."""

    key: str
    read: JsonReader
    optional: bool


class JsonModel:
    """Base of the dataclasses that are read from JSON objects."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> Self:
        """Parse a JSON object. Raise `InvalidResponse`, which names the field."""
        if not isinstance(value, Mapping):
            raise InvalidResponse(f"{cls.__name__}: expected an object, got {_shown(value)}")
        arguments = []
        for key, read, optional in _fields(cls):
            member = value.get(key)
            if member is None and not optional:
                raise InvalidResponse(f"{cls.__name__}: {key} is missing")
            try:
                arguments.append(None if member is None else read(member))
            except (TypeError, ValueError):
                raise InvalidResponse(f"{cls.__name__}: {key} is {_shown(member)}") from None
        return cls(*arguments)


def quantity(value: Any) -> int:
    """Return a number from 0x text or from a plain number. Raise ValueError or TypeError."""
    if value.__class__ is int:
        return int(value)
    if value.__class__ is not str:
        raise TypeError(value)
    if not value.startswith("0x"):
        raise ValueError(value)
    return int(value, 16)


def text(value: Any) -> str:
    """Return text unchanged. Raise TypeError."""
    if value.__class__ is not str:
        raise TypeError(value)
    return str(value)


def number(value: Any) -> float:
    """Return a plain number. Raise TypeError."""
    if value.__class__ not in (int, float):
        raise TypeError(value)
    return float(value)


def flag(value: Any) -> bool:
    """Return a boolean. Raise TypeError."""
    if value.__class__ is not bool:
        raise TypeError(value)
    return bool(value)


def succeeded(value: Any) -> bool:
    """Return True for the status 0x1 of a receipt. Raise ValueError or TypeError."""
    return quantity(value) == 1


def nullable(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return a parser that maps null to None."""
    return lambda value: None if value is None else read(value)


def many(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """Return a parser of a list, which raises TypeError."""
    return lambda items: _many(read, items)


_PLAIN: dict[Any, JsonReader] = {int: quantity, float: number, str: text, bool: flag}


def _fields(cls: type[Any]) -> tuple[_Field, ...]:
    """Return the fields of a class, cached."""
    model_fields = _FIELDS_CACHE.get(cls)
    if model_fields is None:
        hints = typing.get_type_hints(cls)
        model_fields = tuple(_field(field.name, hints[field.name], field.metadata) for field in fields(cls))
        _FIELDS_CACHE[cls] = model_fields
    return model_fields


def _field(name: str, annotation: Any, metadata: Mapping[str, Any]) -> _Field:
    optional = False
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        inner = [argument for argument in typing.get_args(annotation) if argument is not type(None)]
        optional = True
        annotation = inner[0]
    key = metadata.get("key") or _camel(name)
    return _Field(key, metadata.get("read") or _reader(annotation), optional)


def _reader(annotation: Any) -> JsonReader:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if typing.get_origin(annotation) is tuple:
        inner = _reader(typing.get_args(annotation)[0])
        return lambda items: _many(inner, items)
    read: JsonReader = annotation.read
    return read


def _many(read: JsonReader, items: Any) -> tuple[Any, ...]:
    if items.__class__ is not list:
        raise TypeError(items)
    return tuple(map(read, items))


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
