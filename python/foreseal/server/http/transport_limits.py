"""Limits on connections that the native transport enforces by address."""

from collections.abc import Callable
from dataclasses import dataclass

from foreseal.rpc.limits import Limits


@dataclass(frozen=True, slots=True)
class TransportLimits:
    """Limits of one listener."""

    address_connections: int
    """Most connections of one address."""
    connection_bytes: int
    """Most bytes in flight of one connection: unfinished requests and responses that the client does not read."""
    address_bytes: int
    """Most bytes in flight for all connections of one address."""
    total_bytes: int
    """Most bytes in flight for all connections."""
    head_time: float
    """Longest time for the head of a request and for a TLS handshake, in seconds."""
    body_time: float
    """Longest time for a body, in seconds."""
    body_rate: int
    """Lowest rate of a body, in bytes a second; 0: none."""
    address_work: int
    """Units of protocol work a second for one address; see `WorkBucket`."""
    is_proxy: Callable[[str], bool] = lambda _: False
    """Returns True for the address of a trusted proxy: the limits then apply to the addresses that it forwards."""


def transport_limits(limits: Limits, is_proxy: Callable[[str], bool]) -> TransportLimits:
    """Return the limits of a listener from those of its anonymous callers."""
    return TransportLimits(
        address_connections=limits.address_connections,
        connection_bytes=limits.connection_bytes,
        address_bytes=limits.address_bytes,
        total_bytes=limits.total_bytes,
        head_time=limits.head_time / 1000,
        body_time=limits.wait / 1000,
        body_rate=limits.body_rate,
        address_work=limits.address_work,
        is_proxy=is_proxy,
    )
