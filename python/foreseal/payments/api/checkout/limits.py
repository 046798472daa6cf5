"""Limits of shoppers: the cost of their requests for the merchant and for other shoppers.

```text
per address   requests, waits, requests in progress
per order     requests and waits, signatures; only requests with the order's secret count
per wallet    signatures in progress
all           requests in progress, waits, threads (`CheckoutHandler`)
```

The merchant's own requests have other threads and count in none of these.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from foreseal.client_network import client_network, parse_client_address
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.request_rates import RequestRate, RequestRates
from foreseal.payments.configuration.webhook_targets import IpNetwork

ADDRESS_RATE = RequestRate("address", 0.05, 200)
ORDER_RATE = RequestRate("order", 0.1, 60)
SIGNATURE_RATE = RequestRate("signature", 30.0, 6)
"""Signatures for one order. Each is checked, and may need the node."""
ADDRESS_SIGNATURE_RATE = RequestRate("address signature", 2.0, 20)


class ShopperLimits:
    """Limits of all shoppers of a service. For the thread of one event loop."""

    MAX_REQUESTS = 200
    """Requests in progress, waits included."""
    MAX_ADDRESS_REQUESTS = 24
    """Requests in progress of one address."""
    MAX_WAITS = 100
    """Waits for a change, of all orders."""
    MAX_ORDER_WAITS = 6
    """Waits for a change of one order."""
    MAX_ADDRESS_WAITS = 12
    """Waits for a change by one address."""
    MAX_ADDRESS_NODE_CALLS = 3
    """Requests of one address that wait for the node at the same time."""
    MAX_SIGNATURES = 16
    """Signatures that are checked and stored at the same time, without those of wallets."""
    MAX_WALLET_SIGNATURES = 16
    """Signatures of wallets that are checked and stored at the same time. The code of a wallet decides how long."""
    MAX_SIGNATURES_OF_WALLET = 2
    """Signatures of one wallet that are checked and stored at the same time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Set up the limits. `clock` is monotonic, in seconds."""
        self._rates = RequestRates(clock)
        self._addresses: Counter[str] = Counter()
        self._waits: Counter[str] = Counter()
        self._node_calls: Counter[str] = Counter()
        self._address_waits: Counter[str] = Counter()
        self._signatures = 0
        self._wallet_signatures: Counter[str] = Counter()

    def charge(self, rate: RequestRate, name: str) -> None:
        """Count a request of an address or for an order. Raises `ApiError` 429."""
        seconds = self._rates.charge(rate, name)
        if seconds:
            raise too_many("too many attempts", seconds)

    @contextlib.contextmanager
    def request(self, address: str) -> Iterator[None]:
        """Count a request in progress of an address. Raises `ApiError` 429, or 503 for the limit of all."""
        if self._addresses.total() >= self.MAX_REQUESTS:
            message = "too many shoppers at the same time: retry"
            raise ApiError(503, "overloaded", message, Retry_After="1")
        with _counted(self._addresses, address, self.MAX_ADDRESS_REQUESTS):
            yield

    @contextlib.contextmanager
    def wait(self, id: str, address: str) -> Iterator[None]:
        """Count a wait of an address for a change of an order. Raises `ApiError` 429."""
        if self._waits.total() >= self.MAX_WAITS:
            raise too_many("too many requests wait for a change", 2)
        with (
            _counted(self._address_waits, address, self.MAX_ADDRESS_WAITS),
            _counted(self._waits, id, self.MAX_ORDER_WAITS),
        ):
            yield

    @contextlib.contextmanager
    def node_call(self, address: str) -> Iterator[None]:
        """Count a request of an address that waits for the node. Raises `ApiError` 429."""
        with _counted(self._node_calls, address, self.MAX_ADDRESS_NODE_CALLS):
            yield

    @contextlib.contextmanager
    def signature(self) -> Iterator[None]:
        """Count a signature in progress. Raises `ApiError` 503."""
        if self._signatures >= self.MAX_SIGNATURES:
            message = "too many payments at the same time: retry"
            raise ApiError(503, "overloaded", message, Retry_After="1")
        self._signatures += 1
        try:
            yield
        finally:
            self._signatures -= 1

    @contextlib.contextmanager
    def wallet_signature(self, wallet: str) -> Iterator[None]:
        """Count a signature of a wallet in progress. Raises `ApiError` 429, or 503 for the limit of all."""
        if self._wallet_signatures.total() >= self.MAX_WALLET_SIGNATURES:
            message = "too many payments by wallets at the same time: retry"
            raise ApiError(503, "overloaded", message, Retry_After="1")
        with _counted(self._wallet_signatures, wallet, self.MAX_SIGNATURES_OF_WALLET):
            yield


@contextlib.contextmanager
def _counted(counter: Counter[str], name: str, maximum: int) -> Iterator[None]:
    if counter[name] >= maximum:
        raise too_many("too many requests at the same time", 2)
    counter[name] += 1
    try:
        yield
    finally:
        counter[name] -= 1
        if not counter[name]:
            del counter[name]


def too_many(message: str, seconds: int) -> ApiError:
    """Return the rejection of a shopper's request."""
    return ApiError(429, "too_many_requests", f"{message}: retry after {seconds} s", Retry_After=str(seconds))


def client_address(peer: str, forwarded: Sequence[str], proxies: Sequence[IpNetwork]) -> str:
    """Return the address of the shopper: that of the connection, or the one that a trusted proxy has forwarded.

    `forwarded` are the values of X-Forwarded-For. An IPv6 address counts as its network of 64 bits, and all invalid
    ones as one address.
    """
    hops = [hop.strip() for value in forwarded for hop in value.split(",")]
    address = parse_client_address(peer)
    # From the nearest hop backwards: a hop that no trusted proxy appended may be forged.
    while hops and address is not None and any(address in network for network in proxies):
        address = parse_client_address(hops.pop())
    return client_network(address)
