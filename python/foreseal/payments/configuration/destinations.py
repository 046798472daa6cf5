"""Destinations of payments: each is a token, the payee's key, and the contracts of that pair.

`[token]`, `[payee]` and the contracts in `[serve]` are the first destination, the default. `[[destinations]]` adds
further ones.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from foreseal.payments.configuration.keys import Section
from foreseal.payments.configuration.sections import PayeeSection, ServeSection, TokenSection
from foreseal.payments.validation import AccountAddress, ParsedText

DEFAULT = "default"
"""Name of the first destination."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
# Two destinations with one token must agree on these keys, which describe the token and not its use.
_TOKEN_KEYS = ("name", "version", "symbol", "decimals")
_CONTRACTS = ("checkout", "batch_capture")


def destination_name(text: str) -> str:
    """Return a valid name unchanged. Raises ValueError."""
    if _NAME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a name of 1 to 40 lower-case letters, digits, _ and -, a letter first")
    return text


NAME_PATTERN = f"^{_NAME.pattern}$"
DestinationName = Annotated[str, ParsedText(destination_name, {"type": "string", "pattern": NAME_PATTERN})]


class DestinationSection(Section):
    """A further token or payee. There may be several; each differs from the others in its token or its payee."""

    name: DestinationName = Field(
        description="Unique name of the destination, as requests give it.", examples=["branch-2"]
    )
    checkout: AccountAddress | None = Field(
        default=None,
        description="Checkout contract of this token and payee.",
        examples=["0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"],
    )
    payouts: AccountAddress | None = Field(
        default=None,
        description="Payouts contract of this token.",
        examples=["0x5FC8d32690cc91D4c39d9d3abcBD16989F875707"],
    )
    batch_capture: AccountAddress | None = Field(
        default=None,
        description="Batch capture contract of this token and payee.",
        examples=["0x0165878A594ca255338adfa4d48449f69242Eb8F"],
    )
    token: TokenSection | None = Field(default=None, description="Token; by default that of [token].")
    payee: PayeeSection | None = Field(default=None, description="Payee; by default that of [payee].")


@dataclass(frozen=True, slots=True)
class ConfiguredDestination:
    """A destination with its defaults filled in."""

    key: str
    """Path of its section, for errors; empty for the first."""
    name: str
    token: TokenSection
    payee: PayeeSection
    checkout: AccountAddress | None
    payouts: AccountAddress | None
    batch_capture: AccountAddress | None

    def path(self, key: str) -> str:
        """Return the path of one of its keys in the file."""
        return f"{self.key}.{key}" if self.key else f"serve.{key}" if key in (*_CONTRACTS, "payouts") else key


def list_destinations(
    token: TokenSection, payee: PayeeSection, serve: ServeSection, further: Sequence[DestinationSection]
) -> list[ConfiguredDestination]:
    """Return all destinations, the default first."""
    contracts = (serve.checkout, serve.payouts, serve.batch_capture)
    first = ConfiguredDestination("", DEFAULT, token, payee, *contracts)
    return [first] + [
        ConfiguredDestination(
            f"destinations[{number}]",
            each.name,
            each.token or token,
            each.payee or payee,
            each.checkout,
            each.payouts,
            each.batch_capture,
        )
        for number, each in enumerate(further)
    ]


def destination_problems(destinations: Sequence[ConfiguredDestination]) -> Iterator[str]:
    """Yield the contradictions between destinations that are visible without the keys of the payees."""
    for number, each in enumerate(destinations):
        for other in destinations[:number]:
            yield from _conflicts(each, other)


def _conflicts(each: ConfiguredDestination, other: ConfiguredDestination) -> Iterator[str]:
    if each.name == other.name:
        yield f"{each.path('name')}: {each.name!r} is the name of another destination"
    if each.token.address == other.token.address:
        if each.payee == other.payee:
            yield same_pair(each, other)
        for key in _TOKEN_KEYS:
            if getattr(each.token, key) != getattr(other.token, key):
                yield f"{each.path('token')}.{key}: differs from destination {other.name!r}, which has the same token"
    for key in _CONTRACTS:
        if getattr(each, key) is not None and getattr(each, key) == getattr(other, key):
            yield f"{each.path(key)}: destination {other.name!r} has the same contract, which has one token and payee"


def same_pair(each: ConfiguredDestination, other: ConfiguredDestination) -> str:
    """Return the problem of two destinations that do not differ."""
    return f"{each.key}: has the token and the payee of destination {other.name!r}: change token or payee"
