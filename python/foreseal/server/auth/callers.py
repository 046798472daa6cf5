"""Identification of callers: once for each request or connection, from its headers and its address."""

import asyncio
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from foreseal.bounded_cache import BoundedCache
from foreseal.client_network import client_network, parse_client_address
from foreseal.rpc.rate import UNLIMITED, Rate, resolve_burst
from foreseal.rpc.rate_limiter import BucketTable, Clock, CpuBudget, RateLimiter, ScheduledCaller, TokenBucket
from foreseal.rpc.rejected_call import RejectedCall
from foreseal.server.auth.keys import ApiKey, KeyStore
from foreseal.server.auth.origins import Headers
from foreseal.server.auth.tiers import CallerTier
from foreseal.server.settings.model import DEDICATED, EXTENSION, PUBLIC

# Seconds between two checks of the key file: a revoked key is rejected within twice that time.
KEY_CHECK_INTERVAL = 0.25

_BEARER = b"bearer"
# Characters of the longest forwarded address; longer ones are invalid.
_MAX_ADDRESS = 64
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Peer = tuple[str, int] | None
"""Address and port of the client side of a connection, as in ASGI."""


Schedule = Callable[[bytes, bool, int, int, tuple[int, int] | None, int | None], ScheduledCaller]
"""Creates a caller of the core from its name, whether it is dedicated, its processor time and burst in ms, and the
interval in us and the burst of its calls, and its most concurrent calls, each None without a limit.
"""


class WrongKey(Exception):
    """The caller's key was rejected; the message has the reason."""


class TooManyWrongKeys(Exception):
    """The caller's address has sent too many wrong keys: further ones are rejected for `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many wrong API keys from this address: try again in {seconds} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Caller:
    """An identified caller, with only the public data of its key."""

    tier: CallerTier
    key: ApiKey | None = None
    address: str = ""
    """Address of an anonymous caller with its own limits: an IPv4 address, or the first 64 bits of an IPv6 one."""
    limiter: RateLimiter | None = None
    """Its budgets and its place in the fair queue; None for administrators."""
    _others: "dict[str, Caller]" = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, path: str) -> "Caller":
        """Return the same caller at another path of JSON-RPC."""
        caller = self._others.get(path)
        if caller is None:
            caller = self._others[path] = replace(self, tier=self.tier.others[path])
        return caller

    @property
    def is_permanent(self) -> bool:
        """True if it has no key, which could be revoked: its calls need no check except those of the core."""
        return self.key is None


class SingleCaller:
    """Callers of a listener that treats all alike: that of administrators."""

    def __init__(self, tier: CallerTier) -> None:
        self.tiers = (tier,)
        self.anonymous = tier
        self.only_caller = Caller(tier)
        self.caches: dict[str, BoundedCache[Any, Any]] = {}
        """Empty: there is only one caller."""

    def identify(self, _peer: Peer, _headers: Headers) -> Caller:
        """Return the caller."""
        return self.only_caller

    def restrict(self, caller: Caller) -> Caller:
        """Return the caller: this listener accepts no pages."""
        return caller

    def is_valid(self, _caller: Caller) -> bool:
        """Return True: this caller never loses access."""
        return True

    def is_proxy(self, _address: str) -> bool:
        """Return True for a trusted proxy."""
        return False

    def client_host(self, peer: Peer, _headers: Headers) -> str:
        """Return the address of the client."""
        return "" if peer is None else peer[0]


class Callers:
    """Callers of the endpoint, by API key or by address. Used from the event loop's thread only."""

    def __init__(
        self,
        tiers: Mapping[str, CallerTier],
        keys: KeyStore,
        buckets: BucketTable,
        clock: Clock,
        schedule: Schedule | None = None,
        *,
        public: bool,
        proxies: frozenset[str] = frozenset(),
        wrong_keys: tuple[Rate, int] = (UNLIMITED, 1),
        cache_size: int = 4096,
    ) -> None:
        """Create the table. With `public`, callers without a key are public. `proxies` are networks of trusted proxies.

        `schedule` creates callers of the core's scheduler; without it all share one place in the fair queue.
        `wrong_keys` are the rate and burst of requests with a wrong key from one address. `cache_size` callers of each
        kind are cached.
        """
        self._schedule = schedule
        self.tiers = tuple(tiers.values())
        self._tiers = tiers
        self._keys = keys
        self._buckets = buckets
        self._clock = clock
        self.anonymous = self._anonymous = tiers[PUBLIC if public else DEDICATED]
        """Tier of callers without a key."""
        self._wrong_keys = wrong_keys
        # Buckets of addresses that sent a wrong key.
        self._failures: BoundedCache[str, TokenBucket] = BoundedCache(cache_size)
        self._proxies = tuple(ipaddress.ip_network(name) for name in sorted(proxies))
        self._by_host: BoundedCache[str, Caller] = BoundedCache(cache_size)
        self._by_key: BoundedCache[str, Caller] = BoundedCache(cache_size)
        self.caches: dict[str, BoundedCache[Any, Any]] = {
            "addresses": self._by_host,
            "keys": self._by_key,
            "wrong_keys": self._failures,
        }
        """Caches of callers by their kind of key."""
        # Rate limiters in use or recently used, by what they limit.
        self._limiters: WeakValueDictionary[tuple[bytes, str, Rate, int], RateLimiter] = WeakValueDictionary()
        self.only_caller: Caller | None = None
        """None: callers are identified individually."""
        self._timer: asyncio.TimerHandle | None = None

    def identify(self, peer: Peer, headers: Headers) -> Caller:
        """Return the caller. Raises `WrongKey` and `TooManyWrongKeys`: a wrong key never gives anonymous access."""
        if b"authorization" in headers or b"x-api-key" in headers:
            return self._identify_by_key(normalize_address(self.client_host(peer, headers)), headers)
        host = self.client_host(peer, headers)
        caller = self._by_host.get(host)
        if caller is None:
            address = normalize_address(host)
            caller = Caller(self._anonymous, None, address, self._limiter(b"a" + address.encode(), self._anonymous))
            self._by_host.add(host, caller)
        return caller

    def restrict(self, caller: Caller) -> Caller:
        """Return the caller with the rights of browser extensions and apps; its rates do not change."""
        tier = self._tiers.get(EXTENSION)
        return caller if tier is None else replace(caller, tier=tier)

    def is_valid(self, caller: Caller) -> bool:
        """Return True if the key that opened a connection is still valid."""
        return caller.key is None or self._keys.is_valid(caller.key)

    def watch_keys(self, loop: asyncio.AbstractEventLoop, changed: Callable[[], None]) -> None:
        """Check the key file periodically, and call `changed` after each check: keys also expire."""
        # Scheduled first, so that a failed check is not the last one.
        self._timer = loop.call_later(KEY_CHECK_INTERVAL, self.watch_keys, loop, changed)
        self._keys.reload_if_changed()
        changed()

    def stop(self) -> None:
        """Stop the periodic checks."""
        if self._timer is not None:
            self._timer.cancel()

    def is_proxy(self, address: str) -> bool:
        """Return True for a trusted proxy."""
        return self._is_proxy(address)

    def _identify_by_key(self, address: str, headers: Headers) -> Caller:
        """Find the caller by its key. A wrong key counts against its address; a valid one is always accepted."""
        try:
            return self._with_key(_key_in(headers))
        except WrongKey:
            refusal = self._count_failure(address)
            if refusal is not None:
                raise TooManyWrongKeys(refusal.seconds) from None
            raise

    def _count_failure(self, address: str) -> RejectedCall | None:
        rate, burst = self._wrong_keys
        if not rate.calls:
            return None
        failures = self._failures.get(address)
        if failures is None:
            failures = TokenBucket(self._buckets, b"f" + address.encode(), rate, burst, self._clock)
            self._failures.add(address, failures)
        return failures.consume("")

    def _with_key(self, text: str) -> Caller:
        key = self._keys.find(text)
        if isinstance(key, str):
            raise WrongKey(key)
        caller = self._by_key.get(key.id)
        if caller is None or caller.key is not key:
            tier = self._tiers[key.tier]
            caller = Caller(tier, key, "", self._limiter(b"k" + key.id.encode(), tier, key))
            self._by_key.add(key.id, caller)
        return caller

    def _limiter(self, name: bytes, tier: CallerTier, key: ApiKey | None = None) -> RateLimiter:
        rate, burst = tier.rate, tier.burst
        if key is not None and key.rate is not None:
            rate, burst = key.rate, key.burst
        burst = resolve_burst(rate, burst)
        measured = name, tier.name, rate, burst
        limiter = self._limiters.get(measured)
        if limiter is None:
            bucket = TokenBucket(self._buckets, name, rate, burst, self._clock) if rate.calls else None
            ident = None if key is None else key.id
            scheduled = cpu = None
            if self._schedule is not None:
                calls = (rate.interval, burst) if rate.calls else None
                is_dedicated, max_calls = tier.name == DEDICATED, tier.limits.caller_calls
                scheduled = self._schedule(name, is_dedicated, tier.cpu, tier.cpu_burst, calls, max_calls)
                cpu = CpuBudget(scheduled, self._clock, tier.cpu, tier.cpu_burst) if tier.cpu else None
            max_calls = tier.limits.caller_calls
            limiter = RateLimiter(bucket, max_calls, tier.refusals, ident, scheduled, cpu)
            self._limiters[measured] = limiter
        return limiter

    def client_host(self, peer: Peer, headers: Headers) -> str:
        """Return the address of the client: that of its connection, or the one that a trusted proxy has forwarded."""
        address = "" if peer is None else peer[0]
        if self._proxies:
            hops = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
            # From the nearest hop backwards: a hop that no trusted proxy appended may be forged.
            while hops and self._is_proxy(address):
                hop = hops.pop().strip()
                if not hop:
                    break
                address = hop if len(hop) <= _MAX_ADDRESS else ""
        return address

    def _is_proxy(self, address: str) -> bool:
        client_address = parse_client_address(address)
        return client_address is not None and any(client_address in network for network in self._proxies)


def _key_in(headers: Headers) -> str:
    """Return the key that a request carries. Raises `WrongKey`."""
    key = headers.get(b"x-api-key")
    authorization = headers.get(b"authorization")
    if authorization is not None:
        scheme, _, bearer = authorization.strip().partition(b" ")
        if scheme.lower() != _BEARER:
            raise WrongKey("Authorization must be `Bearer` followed by an API key")
        if key is not None and key.strip() != bearer.strip():
            raise WrongKey("Authorization and X-API-Key must have the same API key")
        key = bearer
    return (key or b"").strip().decode("latin-1")


def normalize_address(text: str) -> str:
    """Return the network that represents an address: itself, or the first 64 bits of an IPv6 address."""
    return client_network(parse_client_address(text))
