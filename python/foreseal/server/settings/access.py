"""Access settings: methods and rates of callers."""

from dataclasses import dataclass

from foreseal.rpc.rate import UNLIMITED, Rate

RATE_LIMITED_CALLERS = 65_536
"""Callers that the rate limiter tracks with the default memory; 8 bytes each, shared by all workers."""
CACHED_CALLERS = 4096
"""Addresses, and API keys, whose caller a process with the default memory caches."""
CACHED_HEADS = 256
"""Request heads of at most 1 KiB that a process with the default memory caches after their checks."""

_PUBLIC_RATE = Rate(100)
_WRONG_KEY_RATE = Rate(1)


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Methods and rates of the tiers, and trusted proxies; the table describes those that are settings."""

    public_allow: frozenset[str] = frozenset()
    public_deny: frozenset[str] = frozenset()
    dedicated_allow: frozenset[str] = frozenset()
    dedicated_deny: frozenset[str] = frozenset()
    public_rate: Rate = _PUBLIC_RATE
    public_burst: int | None = None
    """Calls; None is the calls of two seconds."""
    dedicated_rate: Rate = UNLIMITED
    dedicated_burst: int | None = None
    public_cpu: int = 250
    """Milliseconds of processor time a second; 0 for no limit."""
    public_cpu_burst: int = 2_000
    """Milliseconds."""
    dedicated_cpu: int = 0
    dedicated_cpu_burst: int = 10_000
    trusted_proxies: frozenset[str] = frozenset()
    """Networks in the notation of `ipaddress`."""
    origins: frozenset[str] = frozenset()
    """Origins of pages that may call."""
    wrong_key_rate: Rate = _WRONG_KEY_RATE
    wrong_key_burst: int = 20
