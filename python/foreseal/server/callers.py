"""Who calls: found once for a request or a connection, from its headers and where it comes from."""

import asyncio
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from foreseal.rpc.meter import Bucket, Buckets, Clock, CpuBudget, Meter, ScheduledCaller
from foreseal.rpc.rate import NONE, Rate, burst_of
from foreseal.rpc.refused import Refused
from foreseal.server.access import Headers
from foreseal.server.cache import BoundedCache
from foreseal.server.keys import Key, Keys
from foreseal.server.settings.model import DEDICATED, PUBLIC
from foreseal.server.tier import Tier

# Seconds between two looks at the file of keys: a revoked one is refused within twice that time.
LOOK = 0.25

_BEARER = b"bearer"
# Characters of the longest address that a proxy forwards; what is longer cannot be read.
_MAX_ADDRESS = 64
_V6_PREFIX = 64
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Peer = tuple[str, int] | None
"""Address and port that a connection comes from, as ASGI has it."""


Schedule = Callable[[bytes, bool, int, int], ScheduledCaller]
"""Makes a caller of the core's scheduler: of its name, whether it is dedicated, its processor time and burst in ms."""


class WrongKey(Exception):
    """The caller gave a key that is not taken; the message says why."""


class TooManyWrongKeys(Exception):
    """The caller's address has sent too many wrong keys: further ones are refused for `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many wrong API keys from this address: try again in {seconds} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. Of a key there is no more here than what may be told to others."""

    tier: Tier
    key: Key | None = None
    address: str = ""
    """Of an anonymous caller with bounds of its own: an IPv4 address, or the first 64 bits of an IPv6 one."""
    meter: Meter | None = None
    """Its budgets and its turn; None for administrators."""

    @property
    def is_plain(self) -> bool:
        """True if it has neither a key nor limits of its own: nothing is checked for each call."""
        return self.key is None and (self.meter is None or not self.meter.is_limited)


class Anyone:
    """The callers of a listener where all are the same: that of administrators."""

    def __init__(self, tier: Tier) -> None:
        self.tiers = (tier,)
        self.anonymous = tier
        self.anyone = Caller(tier)
        self.caches: dict[str, BoundedCache[Any, Any]] = {}
        """None: there is one caller."""

    def identify(self, _peer: Peer, _headers: Headers) -> Caller:
        """Who calls."""
        return self.anyone

    def holds(self, _caller: Caller) -> bool:
        """Whether the caller is still welcome."""
        return True

    def is_proxy(self, _address: str) -> bool:
        """Return `True` for a trusted proxy."""
        return False

    def host_of(self, peer: Peer, _headers: Headers) -> str:
        """Return the address of the client."""
        return "" if peer is None else peer[0]


class Callers:
    """The callers of the endpoint, by API key or by address. Used from the event loop's thread only."""

    def __init__(
        self,
        tiers: Mapping[str, Tier],
        keys: Keys,
        buckets: Buckets,
        clock: Clock,
        schedule: Schedule | None = None,
        *,
        public: bool,
        proxies: frozenset[str] = frozenset(),
        wrong_keys: tuple[Rate, int] = (NONE, 1),
        cache_size: int = 4096,
    ) -> None:
        """`public`: whether a caller without a key is a public one. `proxies` are networks whose word counts.

        `schedule` makes the callers of the core's scheduler: without it all share one turn. `wrong_keys` are the rate
        and burst of requests with a wrong key from one address. `cache_size` callers of each kind are cached.
        """
        self._schedule = schedule
        self.tiers = tuple(tiers.values())
        self._tiers = tiers
        self._keys = keys
        self._buckets = buckets
        self._clock = clock
        self.anonymous = self._anonymous = tiers[PUBLIC if public else DEDICATED]
        """The tier of callers without a key."""
        self._wrong_keys = wrong_keys
        # Buckets of addresses that sent a wrong key.
        self._failures: BoundedCache[str, Bucket] = BoundedCache(cache_size)
        self._proxies = tuple(ipaddress.ip_network(name) for name in sorted(proxies))
        self._by_host: BoundedCache[str, Caller] = BoundedCache(cache_size)
        self._by_key: BoundedCache[str, Caller] = BoundedCache(cache_size)
        self.caches: dict[str, BoundedCache[Any, Any]] = {
            "addresses": self._by_host,
            "keys": self._by_key,
            "wrong_keys": self._failures,
        }
        """Caches of callers by what they are found by."""
        # Of whoever has something under way, or called of late, by what it measures.
        self._meters: WeakValueDictionary[tuple[bytes, str, Rate, int], Meter] = WeakValueDictionary()
        self.anyone: Caller | None = None
        """None: each address has its own turn."""
        self._timer: asyncio.TimerHandle | None = None

    def identify(self, peer: Peer, headers: Headers) -> Caller:
        """Return the caller. Raises `WrongKey` and `TooManyWrongKeys`: a wrong key is never anonymous access."""
        if b"authorization" in headers or b"x-api-key" in headers:
            return self._keyed(network_of(self.host_of(peer, headers)), headers)
        host = self.host_of(peer, headers)
        caller = self._by_host.get(host)
        if caller is None:
            address = network_of(host)
            caller = Caller(self._anonymous, None, address, self._meter(b"a" + address.encode(), self._anonymous))
            self._by_host.add(host, caller)
        return caller

    def holds(self, caller: Caller) -> bool:
        """Whether the key that a connection was opened with is still good."""
        return caller.key is None or self._keys.holds(caller.key)

    def watch(self, loop: asyncio.AbstractEventLoop, changed: Callable[[], None]) -> None:
        """Look at the keys now and then, and call `changed` after each look: time alone changes some."""
        # First, so that a look which fails is not the last one.
        self._timer = loop.call_later(LOOK, self.watch, loop, changed)
        self._keys.look()
        changed()

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def is_proxy(self, address: str) -> bool:
        """Return `True` for a trusted proxy."""
        return self._is_proxy(address)

    def _keyed(self, address: str, headers: Headers) -> Caller:
        """Find the caller by its key. A wrong key counts against its address; a valid one is always accepted."""
        try:
            return self._with_key(_key_in(headers))
        except WrongKey:
            refusal = self._count_failure(address)
            if refusal is not None:
                raise TooManyWrongKeys(refusal.seconds) from None
            raise

    def _count_failure(self, address: str) -> Refused | None:
        rate, burst = self._wrong_keys
        if not rate.calls:
            return None
        failures = self._failures.get(address)
        if failures is None:
            failures = Bucket(self._buckets, b"f" + address.encode(), rate, burst, self._clock)
            self._failures.add(address, failures)
        return failures.take("")

    def _with_key(self, text: str) -> Caller:
        key = self._keys.find(text)
        if isinstance(key, str):
            raise WrongKey(key)
        caller = self._by_key.get(key.id)
        if caller is None or caller.key is not key:
            tier = self._tiers[key.tier]
            caller = Caller(tier, key, "", self._meter(b"k" + key.id.encode(), tier, key))
            self._by_key.add(key.id, caller)
        return caller

    def _meter(self, name: bytes, tier: Tier, key: Key | None = None) -> Meter:
        rate, burst = tier.rate, tier.burst
        if key is not None and key.rate is not None:
            rate, burst = key.rate, key.burst
        burst = burst_of(rate, burst)
        measured = name, tier.name, rate, burst
        meter = self._meters.get(measured)
        if meter is None:
            bucket = Bucket(self._buckets, name, rate, burst, self._clock) if rate.calls else None
            ident = None if key is None else key.id
            scheduled = cpu = None
            if self._schedule is not None:
                scheduled = self._schedule(name, tier.name == DEDICATED, tier.cpu, tier.cpu_burst)
                cpu = CpuBudget(scheduled, self._clock, tier.cpu, tier.cpu_burst) if tier.cpu else None
            most = tier.limits.caller_calls
            meter = Meter(bucket, most, tier.refusals, ident, scheduled, cpu)
            meter.is_limited = meter.is_limited or tier.is_metered
            self._meters[measured] = meter
        return meter

    def host_of(self, peer: Peer, headers: Headers) -> str:
        """Return the address of the client: that of its connection, or the one that a trusted proxy has forwarded."""
        address = "" if peer is None else peer[0]
        if self._proxies:
            hops = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
            # From the nearest one back: what a proxy of ours did not write itself is anybody's word.
            while hops and self._is_proxy(address):
                hop = hops.pop().strip()
                if not hop:
                    break
                address = hop if len(hop) <= _MAX_ADDRESS else ""
        return address

    def _is_proxy(self, address: str) -> bool:
        found = _parsed(address)
        return found is not None and any(found in network for network in self._proxies)


def _key_in(headers: Headers) -> str:
    """The key that a request carries. Raises `WrongKey`."""
    given = headers.get(b"x-api-key")
    authorization = headers.get(b"authorization")
    if authorization is not None:
        scheme, _, bearer = authorization.strip().partition(b" ")
        if scheme.lower() != _BEARER:
            raise WrongKey("Authorization must be Bearer and an API key")
        if given is not None and given.strip() != bearer.strip():
            raise WrongKey("Authorization and X-API-Key are not the same API key")
        given = bearer
    return (given or b"").strip().decode("latin-1")


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address, with or without a port, an IPv4 one inside of IPv6 as itself; None for what is none."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def network_of(text: str) -> str:
    """Return the network that stands for an address: itself, or the first 64 bits of an IPv6 one."""
    address = _parsed(text)
    if address is None:
        # A Unix socket, or a proxy's own word: all of them are one caller.
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _V6_PREFIX), strict=False))
    return str(address)
