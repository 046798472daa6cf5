"""Types of the values in `pay.toml`."""

import re
from pathlib import Path
from typing import Annotated

import sqlalchemy
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from foreseal.client.urls import PRECONFIRMED_REFUSED, is_preconfirmed
from foreseal.payments.configuration.webhook_targets import IpNetwork, parse_networks
from foreseal.payments.ledger.database_url import check_options
from foreseal.payments.ledger.event_types import check_types
from foreseal.payments.validation import AccountAddress, ParsedText

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PUBLIC_KEY = re.compile(r"(0x)?(04)?[0-9a-fA-F]{128}")
_PROCESS_NAME = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_MERCHANT_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
# Paths at the root of a process.
_RESERVED_NAMES = frozenset({"docs", "healthz", "livez", "metrics", "openapi", "readyz", "v1"})
_DATABASES = ("sqlite", "postgresql")


class Section(BaseModel):
    """A section of the file. Each field is a key; its description documents it."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _variable(text: str) -> str:
    if _VARIABLE.fullmatch(_text(text)) is None:
        raise ValueError(f"{text!r} is not a name of an environment variable")
    return text


def url_text(*schemes: str, is_node: bool = False) -> ParsedText:
    """Return the annotation of a URL with one of these schemes. `is_node`: that of a node."""
    form = re.compile(rf"({'|'.join(schemes)})://[^\s/]+\S*")

    def parse(text: str) -> str:
        if form.fullmatch(_text(text)) is None:
            raise ValueError(f"{text!r} is not a URL of {' or '.join(schemes)}")
        if is_node and is_preconfirmed(text):
            raise ValueError(PRECONFIRMED_REFUSED)
        return text

    return ParsedText(parse)


def _public_key(text: str) -> bytes:
    # Some tools write the prefix 04 of an uncompressed key.
    if _PUBLIC_KEY.fullmatch(_text(text)) is None:
        raise ValueError(f"{text!r} is not a public key of 64 bytes in hexadecimal")
    return bytes.fromhex(text[-128:])


def _process_name(text: str) -> str:
    if _PROCESS_NAME.fullmatch(_text(text)) is None:
        raise ValueError(f"{text!r} is not a name of 1 to 64 letters, digits and ._:-")
    return text


def _merchant_name(text: str) -> str:
    if _MERCHANT_NAME.fullmatch(_text(text)) is None:
        raise ValueError(f"{text!r} is not a name of 1 to 32 lower-case letters, digits and -, with a letter first")
    if text in _RESERVED_NAMES:
        raise ValueError(f"{text!r} is the name of a path of every process")
    return text


def _database(text: str) -> str:
    try:
        url = sqlalchemy.make_url(_text(text))
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        # The URL may hold a password, so the error does not repeat it.
        raise ValueError("must be a database URL, such as sqlite:///pay.db") from None
    if backend not in _DATABASES:
        raise ValueError(f"{backend} must be {' or '.join(_DATABASES)}")
    check_options(url)
    return text


def _listen(text: str) -> tuple[str, int]:
    host, colon, port = _text(text).strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is not an address: write HOST:PORT, such as 127.0.0.1:8600")
    return host, int(port)


def _networks(value: object) -> object:
    """Convert a list of texts to networks; return any other value unchanged."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    return parse_networks(value)


Text = Annotated[str, ParsedText(_text)]
HttpUrl = Annotated[str, url_text("http", "https")]
NodeUrl = Annotated[str, url_text("http", "https", "ws", "wss", is_node=True)]
WebSocketUrl = Annotated[str, url_text("ws", "wss", is_node=True)]
DatabaseUrl = Annotated[str, ParsedText(_database)]
SecretFilePath = Annotated[Path, ParsedText(lambda text: Path(_text(text)))]
ProcessNameText = Annotated[str, ParsedText(_process_name)]
MerchantName = Annotated[str, ParsedText(_merchant_name)]
PublicKey = Annotated[bytes, ParsedText(_public_key)]
VariableName = Annotated[str, ParsedText(_variable)]
ListenAddress = Annotated[tuple[str, int], ParsedText(_listen)]
# TOML has lists only; a strict tuple would reject them.
Addresses = Annotated[tuple[AccountAddress, ...], Field(strict=False)]
IpNetworks = Annotated[tuple[IpNetwork, ...], BeforeValidator(_networks)]
EventTypes = Annotated[tuple[Text, ...], Field(strict=False), AfterValidator(check_types)]
