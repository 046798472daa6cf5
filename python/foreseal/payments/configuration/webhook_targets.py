"""Checks of webhook targets: the form of a URL, and the addresses that the service may connect to.

```text
registration, pay.toml   check_url       form of the URL, and the address in it
each connection          AddressPolicy   each address that the name resolves to
```

Anyone with an API key of the role admin may register a target, and the service's network may contain databases, cloud
metadata and other services that trust it. Therefore only public addresses are allowed, unless the operator allows more.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_URL_LENGTH = 500
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)
# The last label of a name that a resolver may read as a number: 2130706433, 0x7f000001, 0177.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
# Names that resolve within a host or a private network.
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa")
_PORTS = frozenset({80, 443})
_FIRST_FREE_PORT = 1_024

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_TO_IPV4 = 0xFFFFFFFF
# Not private, but no single host's address: relays, tunnels, benchmarks, protocol assignments and documentation.
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"),
        *("192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)
ANY_NETWORK: tuple[IpNetwork, ...] = (ipaddress.IPv4Network("0.0.0.0/0"), ipaddress.IPv6Network("::/0"))


class TargetForbidden(ValueError):
    """A target whose URL or address is not allowed."""


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Addresses that the service may connect to: public ones, and those of the networks."""

    networks: tuple[IpNetwork, ...] = ()

    def check(self, text: str) -> None:
        """Check an address. Raises `TargetForbidden`."""
        try:
            address = _embedded(ipaddress.ip_address(text))
        except ValueError:
            raise TargetForbidden(f"{text} is not an address") from None
        if not (any(address in network for network in self.networks) or _is_public(address)):
            raise TargetForbidden(f"{text} is not a public address{HINT}")


HINT = ": the operator may allow it by webhook_networks or allow_private in pay.toml"
PUBLIC_ONLY = AddressPolicy()


def check_url(url: str, policy: AddressPolicy) -> str:
    """Return the host of a target's URL. Raises `TargetForbidden`.

    A name is not resolved: its addresses are checked at each connection.
    """
    if len(url) > MAX_URL_LENGTH or not url.isascii() or not url.isprintable() or re.search(r"[\s\\]", url):
        raise TargetForbidden(
            f"must have at most {MAX_URL_LENGTH} printable ASCII characters without spaces and backslashes, "
            "international names in their xn-- form"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise TargetForbidden(f"is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not url.lower().startswith(f"{parts.scheme}://"):
        raise TargetForbidden("must begin with http:// or https://")
    if "@" in parts.netloc:
        raise TargetForbidden("must not contain a user name or password")
    if "#" in url:
        raise TargetForbidden("must not contain a fragment")
    # An empty port, as in http://a.example:/, parses as none.
    if parts.netloc.endswith(":") or port == 0:
        raise TargetForbidden("must have a valid port, or none")
    if not policy.networks and port is not None and port not in _PORTS and port < _FIRST_FREE_PORT:
        raise TargetForbidden(f"must not use port {port}: use 80, 443 or a port from {_FIRST_FREE_PORT}{HINT}")
    _check_host(host, "[" in parts.netloc, policy)
    return host


def _check_host(host: str, bracketed: bool, policy: AddressPolicy) -> None:
    if bracketed:
        if "%" in host:
            raise TargetForbidden("must not contain a zone of an IPv6 address")
        policy.check(host)
        return
    labels = host.split(".")
    if len(host) > 253 or any(_LABEL.fullmatch(label) is None for label in labels):
        raise TargetForbidden(f"{host!r} is not a host name; it must not end with a dot")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            raise TargetForbidden(f"{host!r} is not an IPv4 address of four decimal numbers") from None
        policy.check(host)
    elif not policy.networks and (len(labels) == 1 or any(f".{host.lower()}".endswith(f".{x}") for x in _LOCAL_NAMES)):
        raise TargetForbidden(f"{host!r} is the name of a private network{HINT}")


def parse_networks(texts: Iterable[str]) -> tuple[IpNetwork, ...]:
    """Return networks such as 10.0.0.0/8. Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    # :: and ::1 are addresses of their own.
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & _TO_IPV4)
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    special = any(address in network for network in _SPECIAL)
    return address.is_global and not (special or address.is_multicast or address.is_reserved)
