"""Access settings: methods, rates and limits of callers."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

from foreseal.rpc.rate import UNLIMITED, Rate

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LimitSet = TypeVar("LimitSet", bound="DataclassInstance")

_MIB = 1024 * 1024
_PUBLIC_RATE = Rate(100)
_WRONG_KEY_RATE = Rate(1)


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Methods and rates of the tiers, and trusted proxies; the table describes each field."""

    public_allow: frozenset[str] = frozenset()
    public_deny: frozenset[str] = frozenset()
    dedicated_allow: frozenset[str] = frozenset()
    dedicated_deny: frozenset[str] = frozenset()
    public_rate: Rate = _PUBLIC_RATE
    public_burst: int | None = None
    dedicated_rate: Rate = UNLIMITED
    dedicated_burst: int | None = None
    public_cpu: int = 250
    """Milliseconds of processor time a second; 0 for no limit."""
    public_cpu_burst: int = 2_000
    """Milliseconds."""
    dedicated_cpu: int = 0
    dedicated_cpu_burst: int = 10_000
    buckets: int = 65_536
    caller_cache: int = 4096
    head_cache: int = 256
    trusted_proxies: frozenset[str] = frozenset()
    """Networks in the notation of `ipaddress`."""
    origins: frozenset[str] = frozenset()
    """Origins of pages that may call."""
    wrong_key_rate: Rate = _WRONG_KEY_RATE
    wrong_key_burst: int = 20


@dataclass(frozen=True, slots=True)
class PublicLimits:
    """Limits of public callers if lower than the general ones; the table describes each field."""

    body: int = 2 * _MIB
    batch: int = 100
    values: int = 16_384
    response: int = 20 * _MIB
    calls: int = 512
    caller_calls: int | None = 16
    connections: int = 256
    caller_connections: int | None = 16
    caller_filters: int | None = 32
    connection_calls: int = 8
    subscriptions: int = 32
    caller_subscriptions: int | None = 64
    outgoing_bytes: int = 4 * _MIB
    outgoing_frames: int = 4096
    address_connections: int = 64
    address_work: int = 2_000
    connection_bytes: int = 24 * _MIB
    address_bytes: int = 64 * _MIB


@dataclass(frozen=True, slots=True)
class PublicCoreLimits:
    """Limits of public callers that the core enforces within one call; otherwise the same as `PublicLimits`."""

    logs: int = 5_000
    log_time: int = 2_000
    filters: int = 500
    flashblocks: int = 256
    flashblock_bytes: int = 2 * _MIB
    call_gas: int = 50_000_000
    call_time: int = 1_000
    simulate_gas: int = 20_000_000
    trace_bytes: int = 8 * _MIB
    slots: int = 128
    pool_transactions: int = 2_000
    sync_time: int = 10_000


def lower_limits(limits: LimitSet, by: PublicLimits | PublicCoreLimits) -> LimitSet:
    """Return `limits`, with the lower of both values for each field of `by`."""
    pairs = {limit.name: (getattr(limits, limit.name), getattr(by, limit.name)) for limit in fields(by)}
    lower = {name: min((bound for bound in pair if bound is not None), default=None) for name, pair in pairs.items()}
    return replace(limits, **lower)
