"""Spending policy of a buyer: caps, assets, payees and hosts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from x402.schemas import PaymentRequirements

from foreseal.payments.amounts import check_amount
from foreseal.payments.typed_data import address
from foreseal.payments.x402.buyer.errors import PolicyViolation, PurchaseRejected, Rule
from foreseal.payments.x402.payment_key import BATCH, EXACT, UPTO

SCHEMES = (EXACT, UPTO, BATCH)
"""Schemes of x402 v2 that the buyer supports."""

# Networks with the CAIP-2 namespace `eip155`; others are not supported.
_NETWORK = re.compile(r"eip155:[1-9][0-9]{0,18}")
AMOUNT = re.compile(r"[0-9]{1,78}")
_PORTS = {"http": 80, "https": 443}


class ReportSource(StrEnum):
    """Source whose reports may lower the spent amount. Reports that raise it always count."""

    SELLER = "seller"
    """The seller's response: a rejection before settlement, a settled amount below the maximum, a status."""
    CHAIN = "chain"
    """The chain alone: a dishonest seller cannot make a buyer exceed its caps."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A token on a network."""

    network: str
    """CAIP-2 id: `eip155:` and the chain id."""
    token: str
    """Address of the contract."""

    def __post_init__(self) -> None:
        if not isinstance(self.network, str) or not _NETWORK.fullmatch(self.network):
            raise ValueError(f"network: {self.network!r} must be eip155: followed by a number")
        object.__setattr__(self, "token", address(self.token, "token"))

    def __str__(self) -> str:
        return f"{self.token} on {self.network}"


@dataclass(frozen=True, slots=True)
class Caps:
    """Spending limits for one asset, in its smallest units. Reserved amounts count as spent."""

    per_request: int
    """Limit for one response: its price, or the maximum of a variable price."""
    per_session: int
    per_day: int
    """Limit over all sessions of the buyer's account in one UTC day."""
    per_deposit: int = 0
    """Limit for one deposit into a payment channel, which counts as spent in full. 0 disables channels."""

    def __post_init__(self) -> None:
        for name in ("per_request", "per_session", "per_day", "per_deposit"):
            check_amount(getattr(self, name), name)


@dataclass(frozen=True, slots=True)
class SpendingPolicy:
    """Caps by asset, which define the allowed networks and assets, and lists of payees and hosts."""

    caps: Mapping[Asset, Caps]
    payees: frozenset[str] | None = None
    """Addresses that may be paid; None allows any."""
    hosts: frozenset[str] | None = None
    """Hosts whose resources may be paid for, each as `name` for any port or `name:port`; None allows any."""
    schemes: frozenset[str] = frozenset(SCHEMES)
    longest_validity: int = 3600
    """Maximum validity of a signature in seconds. An amount can stay reserved this long."""
    report_source: ReportSource = ReportSource.SELLER
    _networks: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if unknown := set(self.schemes) - set(SCHEMES):
            raise ValueError(f"schemes: {', '.join(sorted(unknown))}: expected {', '.join(SCHEMES)}")
        if check_amount(self.longest_validity, "longest_validity") < 1:
            raise ValueError("longest_validity: must be at least 1 s")
        for name in ("payees", "hosts", "schemes"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name}: must be a set of strings, not one string")
        if self.payees is not None:
            object.__setattr__(self, "payees", frozenset(address(payee, "payees") for payee in self.payees))
        if self.hosts is not None:
            object.__setattr__(self, "hosts", frozenset(_listed_host(host) for host in self.hosts))
        object.__setattr__(self, "_networks", frozenset(asset.network for asset in self.caps))

    def check_host(self, url: str, origin: str | None) -> None:
        """Check that the resource at a URL may be paid for. Raises `PurchaseRejected`.

        `origin` is the first URL of the redirects that led there, if different.
        """
        here, name = _host(url)
        if self.hosts is not None and not {name, here} & self.hosts:
            raise PurchaseRejected((PolicyViolation(Rule.HOST, f"{here} is not on the list: {_list(self.hosts)}"),))
        if origin is None or _origin(url) in (_origin(origin), _encrypted(origin)):
            return
        if self.hosts is None:
            text = f"{_origin(origin)} redirected to {_origin(url)}, whose host is not in the policy"
            raise PurchaseRejected((PolicyViolation(Rule.REDIRECT, text),))
        if origin.lower().startswith("https:") and not url.lower().startswith("https:"):
            text = f"{_origin(origin)} redirected to {_origin(url)}, which is not encrypted"
            raise PurchaseRejected((PolicyViolation(Rule.REDIRECT, text),))

    def offers(self, accepts: Iterable[PaymentRequirements]) -> Iterator["Offer | PolicyViolation"]:
        """Yield each offer of a seller in its order, or the rule that rejects it."""
        for requirements in accepts:
            yield self._refusal(requirements) or self.offer(requirements)

    def offer(self, offered: PaymentRequirements) -> "Offer":
        """Combine a seller's offer with this policy's caps. Raises KeyError if the asset has none."""
        asset = Asset(offered.network, _address(offered.asset))
        return Offer(offered, asset, _address(offered.pay_to), int(offered.amount), self.caps[asset])

    def _refusal(self, offered: PaymentRequirements) -> PolicyViolation | None:
        if offered.scheme not in self.schemes:
            return PolicyViolation(Rule.SCHEME, f"{offered.scheme} is not one of {_list(self.schemes)}")
        if offered.network not in self._networks:
            return PolicyViolation(Rule.NETWORK, f"{offered.network} is not one of {_list(self._networks)}")
        token, payee = _address(offered.asset), _address(offered.pay_to)
        if Asset(offered.network, token or _NO_ADDRESS) not in self.caps:
            return PolicyViolation(Rule.ASSET, f"{offered.asset} on {offered.network} is not on the list")
        if not payee or (self.payees is not None and payee not in self.payees):
            return PolicyViolation(Rule.PAYEE, f"{offered.pay_to} is not on the list")
        if not AMOUNT.fullmatch(offered.amount):
            return PolicyViolation(Rule.AMOUNT, f"{offered.amount!r} is not an amount in smallest units")
        if not 0 < offered.max_timeout_seconds <= self.longest_validity:
            validity = f"{offered.max_timeout_seconds} s, the maximum is {self.longest_validity}"
            text = f"the seller requests a signature valid for {validity}"
            return PolicyViolation(Rule.VALIDITY, text)
        return self._per_request(self.offer(offered))

    def _per_request(self, offer: "Offer") -> PolicyViolation | None:
        cap = offer.caps.per_request
        if offer.amount > cap:
            text = f"{offer.amount} units of {offer.asset} requested, the maximum is {cap}"
            return PolicyViolation(Rule.PER_REQUEST, text, offer.amount, None, cap)
        if offer.terms.scheme == BATCH and not offer.caps.per_deposit:
            return PolicyViolation(Rule.PER_DEPOSIT, f"no payment channels in {offer.asset} are allowed", None, None, 0)
        return None


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer that passes every rule of a policy except the budgets of session and day."""

    terms: PaymentRequirements
    asset: Asset
    payee: str
    amount: int
    """Smallest units; a maximum for `upto` and `batch-settlement`."""
    caps: Caps


_NO_ADDRESS = "0x" + 40 * "0"


def _address(value: str) -> str:
    """Return the address with its checksum, or an empty string if invalid. The seller's own checksum is ignored."""
    try:
        return address(value.lower(), "address")
    except ValueError:
        return ""


def _host(url: str) -> tuple[str, str]:
    """Return host with port, and host alone, of a URL."""
    parts = urlsplit(url)
    name = (parts.hostname or "").rstrip(".")
    return f"{name}:{parts.port or _PORTS.get(parts.scheme, 0)}", name


def _origin(url: str) -> str:
    return f"{urlsplit(url).scheme.lower()}://{_host(url)[0]}"


def _encrypted(url: str) -> str | None:
    """Return the HTTPS origin to which an unencrypted URL usually redirects."""
    _, name = _host(url)
    return f"https://{name}:443" if _origin(url) == f"http://{name}:80" else None


def _listed_host(entry: str) -> str:
    parts = urlsplit(f"//{entry}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    written = f"{parts.hostname}:{port}" if port else parts.hostname
    if not parts.hostname or port == 0 or written != entry.lower().replace("[", "").replace("]", ""):
        raise ValueError(f"hosts: {entry!r} is not HOST or HOST:PORT")
    return str(written)


def _list(entries: Iterable[str]) -> str:
    return ", ".join(sorted(entries)) or "nothing"
