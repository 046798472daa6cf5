"""Keys of a configuration section: allowed values, meaning and default."""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from foreseal.payments.typed_data import address

META = "key"
"""Name under which the metadata of a dataclass field holds its `ConfigurationKey`."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DATABASES = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True)
class KeyKind:
    """Type of a configuration value."""

    read: Callable[[Any], Any]
    """Converter of the TOML value. Raises ValueError and TypeError that describe the problem."""
    example: Any
    """Value for the template, as it appears in TOML."""


@dataclass(frozen=True, slots=True)
class ConfigurationKey:
    """One key of a section."""

    kind: KeyKind
    meaning: str


def key(kind: KeyKind, meaning: str, default: Any = MISSING) -> Any:
    """Declare a field of a section's dataclass. A field without a default is required."""
    return field(default=default, metadata={META: ConfigurationKey(kind, meaning)})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} must be a string in quotes")
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _matching(value: Any, form: re.Pattern[str], what: str) -> str:
    text = _text(value)
    if form.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a {what}")
    return text


def url_kind(*schemes: str, example: str) -> KeyKind:
    """Return the kind of a URL with one of these schemes."""
    form = re.compile(rf"({'|'.join(schemes)})://[^\s/]+\S*")
    return KeyKind(lambda value: _matching(value, form, f"URL of {' or '.join(schemes)}"), example)


def integer_kind(minimum: int, maximum: int, example: int) -> KeyKind:
    """Return the kind of an integer within inclusive bounds."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{value!r} must be a whole number")
        if not minimum <= value <= maximum:
            raise ValueError(f"{value} must be between {minimum} and {maximum}")
        return value

    return KeyKind(read, example)


def choice_kind(enumeration: type[StrEnum], example: StrEnum, *allowed: StrEnum) -> KeyKind:
    """Return the kind of an enumeration's value, limited to `allowed` if given."""
    names = {member.value: member for member in (allowed or tuple(enumeration))}

    def read(value: Any) -> StrEnum:
        if _text(value) not in names:
            raise ValueError(f"{value!r} must be one of {', '.join(names)}")
        return names[value]

    return KeyKind(read, example.value)


def _database(value: Any) -> str:
    try:
        backend = sqlalchemy.make_url(_text(value)).get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        # The URL may hold a password, so the error does not repeat it.
        raise ValueError("must be a database URL, such as sqlite:///pay.db") from None
    if backend not in _DATABASES:
        raise ValueError(f"{backend} must be {' or '.join(_DATABASES)}")
    return str(value)


def _addresses(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} must be a list: write addresses in brackets")
    return tuple(address(_text(item), "address") for item in value)


def _listen(value: Any) -> tuple[str, int]:
    host, colon, port = _text(value).strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{value!r} is not an address: write HOST:PORT, such as 127.0.0.1:8600")
    return host, int(port)


def texts_kind(read: Callable[[list[str]], Any], example: list[str]) -> KeyKind:
    """Return the kind of a list of texts, which `read` converts."""

    def read_texts(value: Any) -> Any:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} must be a list: write texts in brackets")
        return read([_text(item) for item in value])

    return KeyKind(read_texts, example)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} must be true or false")
    return value


FLAG = KeyKind(_flag, False)
TEXT = KeyKind(_text, "text")
ADDRESS = KeyKind(lambda value: address(_text(value), "address"), "0x036CbD53842c5426634e7929541eC2318f3dCF7e")
ADDRESSES = KeyKind(_addresses, ["0x036CbD53842c5426634e7929541eC2318f3dCF7e"])
PATH = KeyKind(lambda value: Path(_text(value)), "payee.key")
VARIABLE = KeyKind(lambda value: _matching(value, _VARIABLE, "name of an environment variable"), "SHOP_KEY")
DATABASE = KeyKind(_database, "sqlite:///pay.db")
LISTEN = KeyKind(_listen, "127.0.0.1:8600")


def described(section: Mapping[str, Any]) -> ConfigurationKey:
    """Return the `ConfigurationKey` of a dataclass field from its metadata."""
    found = section[META]
    assert isinstance(found, ConfigurationKey)
    return found
