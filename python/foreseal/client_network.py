"""Addresses of clients, and the networks that count as one client."""

import ipaddress
from functools import lru_cache

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# One client usually has a whole network of this size.
_V6_PREFIX = 64
# Characters of the longest address with a scope, brackets and a port.
_MAX_SIZE = 64


def parse_client_address(text: str) -> IpAddress | None:
    """Parse an address with an optional port; return an IPv4-mapped address as IPv4, and None for an invalid one."""
    # Checked first, so that a forwarded text of any size is never cached.
    return _parse(text) if len(text) <= _MAX_SIZE else None


@lru_cache(maxsize=4096)
def _parse(text: str) -> IpAddress | None:
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def client_network(address: IpAddress | None) -> str:
    """Return the network that counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address.

    All invalid addresses, and clients of a Unix socket, are one client, whose network is an empty text.
    """
    if address is None:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _V6_PREFIX), strict=False))
    return str(address)
