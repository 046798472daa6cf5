"""Rate limiter of sign-ins with a wrong API key, by client address."""

import ipaddress
import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MAX_ATTEMPTS = 10
"""Wrong keys that an address may send at once."""
ATTEMPT_INTERVAL = 6.0
"""Seconds after which one more wrong key is allowed."""
MAX_ADDRESSES = 10_000
"""Maximum number of tracked addresses; the least recently seen ones are forgotten."""

# Prefix of IPv6 addresses that one client has.
_IPV6_PREFIX = 64


@dataclass(slots=True)
class _Attempts:
    count: float
    time: float


class SignInLimiter:
    """Counter of wrong keys. Safe from any thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Use a monotonic clock in seconds."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._attempts: OrderedDict[str, _Attempts] = OrderedDict()

    def retry_after(self, address: str) -> int:
        """Return the seconds until this address may send a key; 0 if it may now."""
        with self._lock:
            excess = self._current(_client(address)) - (MAX_ATTEMPTS - 1)
        return max(0, math.ceil(excess * ATTEMPT_INTERVAL))

    def record_wrong_key(self, address: str) -> None:
        """Count a wrong key."""
        with self._lock:
            client = _client(address)
            count = self._current(client)
            self._attempts[client] = _Attempts(count + 1, self._monotonic())
            self._attempts.move_to_end(client)
            if len(self._attempts) > MAX_ADDRESSES:
                self._attempts.popitem(last=False)

    def _current(self, client: str) -> float:
        """Return the wrong keys that still count."""
        found = self._attempts.get(client)
        if found is None:
            return 0.0
        return max(0.0, found.count - (self._monotonic() - found.time) / ATTEMPT_INTERVAL)


def _client(address: str) -> str:
    """Return the network of an address that one client has: all of IPv4, the first 64 bits of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_PREFIX), strict=False))
