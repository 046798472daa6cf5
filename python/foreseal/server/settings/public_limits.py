"""Limits of public callers, derived from those of all callers."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LimitSet = TypeVar("LimitSet", bound="DataclassInstance")


class PublicShare(NamedTuple):
    """Part of a limit that a public caller may use."""

    numerator: int
    denominator: int

    def __str__(self) -> str:
        """Format it for people: 2/5."""
        return f"{self.numerator}/{self.denominator}"

    def apply(self, limit: int) -> int:
        """Return this part of a limit, rounded down, at least 1."""
        return max(1, limit * self.numerator // self.denominator)


PUBLIC_SHARES: Mapping[str, PublicShare] = {
    "body": PublicShare(2, 5),
    "batch": PublicShare(1, 10),
    "values": PublicShare(1, 16),
    "response": PublicShare(5, 16),
    "calls": PublicShare(1, 2),
    "connections": PublicShare(1, 2),
    "connection_calls": PublicShare(1, 2),
    "subscriptions": PublicShare(1, 4),
    "outgoing_bytes": PublicShare(1, 4),
    "outgoing_frames": PublicShare(1, 4),
    "address_work": PublicShare(1, 10),
    "connection_bytes": PublicShare(1, 4),
    "address_bytes": PublicShare(1, 2),
    "log_time": PublicShare(2, 5),
    "filters": PublicShare(1, 2),
    "flashblocks": PublicShare(32, 125),
    "flashblock_bytes": PublicShare(1, 4),
    "simulate_gas": PublicShare(2, 5),
    "trace_bytes": PublicShare(1, 8),
    "slots": PublicShare(1, 8),
    "pool_transactions": PublicShare(1, 10),
    "sync_time": PublicShare(1, 3),
}
"""Shares of the limits for which public callers have no number of their own, by name of the limit."""


@dataclass(frozen=True, slots=True)
class PublicLimits:
    """Limits of public callers. None is the share in `PUBLIC_SHARES`; the general limit is the maximum of each."""

    body: int | None = None
    batch: int | None = None
    values: int | None = None
    response: int | None = None
    calls: int | None = None
    caller_calls: int | None = 16
    connections: int | None = None
    caller_connections: int | None = 16
    caller_filters: int | None = 32
    connection_calls: int | None = None
    subscriptions: int | None = None
    caller_subscriptions: int | None = 64
    outgoing_bytes: int | None = None
    outgoing_frames: int | None = None
    address_connections: int | None = 64
    address_work: int | None = None
    connection_bytes: int | None = None
    address_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PublicCoreLimits:
    """Limits of public callers that the core enforces within one call; otherwise the same as `PublicLimits`."""

    logs: int | None = 5_000
    log_time: int | None = None
    filters: int | None = None
    flashblocks: int | None = None
    flashblock_bytes: int | None = None
    call_gas: int | None = 50_000_000
    call_time: int | None = 1_000
    simulate_gas: int | None = None
    trace_bytes: int | None = None
    slots: int | None = None
    pool_transactions: int | None = None
    sync_time: int | None = None


def lower_limits(limits: LimitSet, public: PublicLimits | PublicCoreLimits) -> LimitSet:
    """Return the limits of public callers: their own number or share of each limit, at most the limit itself."""
    lower: dict[str, int | None] = {}
    for field in fields(public):
        limit, own = getattr(limits, field.name), getattr(public, field.name)
        if own is None and limit is not None and field.name in PUBLIC_SHARES:
            own = PUBLIC_SHARES[field.name].apply(limit)
        lower[field.name] = min((bound for bound in (limit, own) if bound is not None), default=None)
    return replace(limits, **lower)
