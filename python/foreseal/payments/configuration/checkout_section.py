"""Section `[checkout]` of `pay.toml`: the page on which shoppers pay."""

import re
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from foreseal.payments.configuration.keys import IpNetworks, Section
from foreseal.payments.validation import ParsedText

# A host name, an IPv4 address or an IPv6 address in brackets, with an optional port.
_ORIGIN = r"https?://(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::[1-9][0-9]{0,4})?"
_ORIGIN_FORM = re.compile(_ORIGIN)
_PUBLIC_FORM = re.compile(rf"({_ORIGIN})((?:/[A-Za-z0-9._~-]+)*)/?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_MAX_NAME = 80
_MAX_ORIGINS = 50


def _origin(text: str) -> str:
    """Return an origin in the form in which browsers send it."""
    origin = text.lower()
    if _ORIGIN_FORM.fullmatch(origin) is None:
        raise ValueError(f"{text!r} is not an origin: write https://HOST or https://HOST:PORT, without a path")
    return origin.removesuffix(_DEFAULT_PORTS[origin.partition(":")[0]])


def _public_url(text: str) -> str:
    match = _PUBLIC_FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a URL such as https://pay.shop.example, with a path but no query")
    return _origin(match[1]) + match[2]


def _shown_name(text: str) -> str:
    if not text.strip() or len(text) > _MAX_NAME:
        raise ValueError(f"must have 1 to {_MAX_NAME} characters")
    return text


def _origins(value: object) -> object:
    """Convert a list of texts to origins; return any other value unchanged."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    if len(value) > _MAX_ORIGINS:
        raise ValueError(f"must have at most {_MAX_ORIGINS} origins")
    return tuple(dict.fromkeys(_origin(each) for each in value))


_Origins = Annotated[tuple[str, ...], BeforeValidator(_origins)]
PublicUrl = Annotated[str, ParsedText(_public_url)]
"""URL at which browsers reach a service, with its origin in the form in which they send it."""
_ShownName = Annotated[str, ParsedText(_shown_name)]


class CheckoutSection(Section):
    """Checkout page, on which shoppers pay with a wallet. Without this section there is none."""

    public_url: PublicUrl = Field(
        description="URL at which browsers reach the service, with the path /NAME of a merchant with a name.",
        examples=["https://pay.shop.example"],
    )
    merchant_name: _ShownName = Field(description="Name of the shop on the page.", examples=["Book shop"])
    origins: _Origins = Field(
        default=(),
        description="Origins of the shop's pages: they may call the checkout API, and shoppers return to them.",
        examples=[["https://shop.example"]],
    )
    network_name: _ShownName | None = Field(
        default=None, description="Name of the network on the page and in wallets.", examples=["Base"]
    )
    rpc_url: PublicUrl | None = Field(
        default=None,
        description="URL of a public node, which the page adds to wallets that lack the network.",
        examples=["https://rpc.shop.example"],
    )
    explorer_url: PublicUrl | None = Field(
        default=None,
        description="URL of a block explorer; the page links to /tx/HASH below it.",
        examples=["https://rpc.shop.example/explorer"],
    )
    trusted_proxies: IpNetworks = Field(
        default=(),
        description="Networks of the proxies whose X-Forwarded-For names the shopper's address.",
        examples=[["10.0.0.0/8"]],
    )
    pretend_wallet: bool = Field(
        default=False,
        description="True if the page offers a wallet with public test keys; for development chains only.",
    )

    @model_validator(mode="after")
    def _no_public_keys_in_production(self) -> Self:
        if self.pretend_wallet and self.public_url.startswith("https://"):
            raise ValueError("pretend_wallet has public keys, so it requires a public_url with http://")
        return self

    @property
    def public_origin(self) -> str:
        """Origin of the page."""
        match = _PUBLIC_FORM.fullmatch(self.public_url)
        assert match is not None, "public_url was validated"
        return match[1]
