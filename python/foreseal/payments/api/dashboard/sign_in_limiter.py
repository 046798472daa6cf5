"""Rate limiter of sign-ins with a wrong API key, by client address."""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from foreseal.client_network import client_network, parse_client_address

MAX_ATTEMPTS = 10
"""Wrong keys that an address may send at once."""
ATTEMPT_INTERVAL = 6.0
"""Seconds after which one more wrong key is allowed."""
MAX_ADDRESSES = 10_000
"""Maximum number of tracked addresses; the least recently seen ones are forgotten."""


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
            excess = self._current(client_network(parse_client_address(address))) - (MAX_ATTEMPTS - 1)
        return max(0, math.ceil(excess * ATTEMPT_INTERVAL))

    def record_wrong_key(self, address: str) -> None:
        """Count a wrong key."""
        with self._lock:
            client = client_network(parse_client_address(address))
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
