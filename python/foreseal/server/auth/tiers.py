"""Tiers of callers: their methods, limits and dispatchers."""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from foreseal.rpc import Dispatcher, HttpReply, Limits, Registry
from foreseal.rpc.call_metrics import CallMetrics
from foreseal.rpc.core_protocol import Core
from foreseal.rpc.discovery import METHODS as DISCOVERY_METHODS
from foreseal.rpc.filters import FilterTable, TierFilters
from foreseal.rpc.rate import UNLIMITED, Rate
from foreseal.server.paths import READ_MODES, STANDARD
from foreseal.server.settings import Settings, SettingsError
from foreseal.server.settings.model import DEDICATED, EXTENSION, PUBLIC

PUBLIC_FORBIDDEN = frozenset({"eth_getBlockReceipts"})
"""Methods that are never available to public callers."""

REFUSAL_REASONS = (
    "rate",
    "cpu",
    "calls",
    "caller_calls",
    "caller_connections",
    "caller_filters",
    "wrong_keys",
    "open",
    "address_connections",
    "bytes_in_flight",
    "total_bytes",
)
"""Reasons of rejections, as `foreseal_refused_total` has them."""

_NOT_PUBLIC = "{} is not served on the public endpoint: use a dedicated one, or an API key"
_NOT_HERE = "{} is not served on this endpoint"
_NOT_FOR_EXTENSIONS = "{} is not served to browser extensions and apps: allow their origin with --allowed-origin"

# Settings of a caller's own limits, in the order of `CallerTier`.
_CALLER_SETTINGS = ("rate", "burst", "cpu", "cpu_burst")


def _no_refusals() -> Counter[str]:
    # Prometheus counts no event that creates its series.
    return Counter(dict.fromkeys(REFUSAL_REASONS, 0))


class ModedNode(Core, Protocol):
    """A node that creates handles that read views in another mode."""

    def in_mode(self, name: str) -> Core:
        """Return a handle to the same node for the read mode with this name."""


class TieredNode(ModedNode, Protocol):
    """A node that creates handles with other limits."""

    def for_tier(self, limits: bytes) -> ModedNode:
        """Return a handle to the same node with `limits`, JSON."""


@dataclass(frozen=True, slots=True)
class CallerTier:
    """Callers of one tier. Used from the event loop's thread only."""

    name: str
    limits: Limits
    dispatcher: Dispatcher
    rate: Rate = UNLIMITED
    burst: int | None = None
    cpu: int = 0
    """Processor time of one caller, ms a second; 0 for no limit."""
    cpu_burst: int = 1
    """Burst of processor time of one caller, ms."""
    connections: set[object] = field(default_factory=set)
    """Open WebSockets of its callers."""
    refusals: Counter[str] = field(default_factory=_no_refusals)
    """Rejected calls and handshakes by reason."""
    others: "Mapping[str, CallerTier]" = field(default_factory=dict)
    """The same callers at the other paths of JSON-RPC."""
    largest: int = field(init=False)
    """Largest request body, bytes."""
    answer: Callable[..., HttpReply | Coroutine[Any, Any, HttpReply]] = field(init=False)
    """Answers a body: see `Dispatcher.answer`."""

    def __post_init__(self) -> None:
        # Looked up once, not for every request.
        object.__setattr__(self, "largest", self.limits.body)
        object.__setattr__(self, "answer", self.dispatcher.answer)

    @property
    def has_limiters(self) -> bool:
        """True if each caller has limits of its own in addition to the shared ones."""
        limits = self.limits
        own = limits.caller_calls, limits.caller_connections
        return bool(self.rate.calls or self.cpu) or any(limit is not None for limit in own)


def forbidden_methods(settings: Settings, tier: str, methods: Iterable[str]) -> Mapping[str, str]:
    """Return the `methods` methods that a tier's callers may not use, each with its error message.

    Raises `SettingsError` for an unknown method, and for a prefix that matches none.
    """
    methods, access = frozenset(methods), settings.access
    allow, deny = getattr(access, f"{tier}_allow"), getattr(access, f"{tier}_deny")
    allowed = _matching(f"access.{tier}_allow", allow, methods) if allow else methods
    forbidden = methods - allowed | _matching(f"access.{tier}_deny", deny, methods)
    reason = _NOT_HERE
    if tier == PUBLIC:
        forbidden, reason = forbidden | PUBLIC_FORBIDDEN, _NOT_PUBLIC
    return {method: reason.format(method) for method in forbidden - DISCOVERY_METHODS}


def build_tiers(
    settings: Settings,
    node: TieredNode,
    registry: Registry,
    methods: Iterable[str],
    development_methods: Iterable[str] = (),
) -> dict[str, CallerTier]:
    """Return the tiers by name. `methods` are the node's methods. Raises `SettingsError`.

    A node that accepts pages of loopback origins has a tier `EXTENSION` for browser extensions and apps: that of
    anonymous callers without `development_methods`.
    """
    methods = (*methods, *registry.methods)
    filters = build_filters(settings)
    refused = {name: dict(forbidden_methods(settings, name, methods)) for name in (DEDICATED, PUBLIC)}
    counts = CallMetrics(settings.log.slow / 1000)
    own = Dispatcher(
        node,
        settings.limits,
        registry,
        refused[DEDICATED],
        call_metrics=counts,
        tier=DEDICATED,
        filters=filters[DEDICATED],
    )

    def create_tier(name: str, settings_of: str, core: ModedNode, first: Dispatcher | None = None) -> CallerTier:
        def create(core: Core) -> Dispatcher:
            return Dispatcher(
                core,
                settings.tier_limits(settings_of),
                registry,
                refused[name],
                own.router.completions,
                counts,
                name,
                own.time_slices,
                filters[settings_of],
                is_public=settings_of == PUBLIC,
            )

        own_limits = (getattr(settings.access, f"{settings_of}_{each}") for each in _CALLER_SETTINGS)
        tier = CallerTier(name, settings.tier_limits(settings_of), first or create(core), *own_limits)
        return with_other_paths(tier, core, create)

    cores = {DEDICATED: node, PUBLIC: node.for_tier(settings.tier_core_limits(PUBLIC))}
    tiers = {
        DEDICATED: create_tier(DEDICATED, DEDICATED, cores[DEDICATED], own),
        PUBLIC: create_tier(PUBLIC, PUBLIC, cores[PUBLIC]),
    }
    if settings.browsers:
        # A tier like that of callers without a key, without the development methods.
        anonymous = PUBLIC if settings.public else DEDICATED
        refused[EXTENSION] = refused[anonymous] | {
            method: _NOT_FOR_EXTENSIONS.format(method) for method in development_methods
        }
        tiers[EXTENSION] = create_tier(EXTENSION, anonymous, cores[anonymous])
    return tiers


def with_other_paths(tier: CallerTier, node: ModedNode, create: Callable[[Core], Dispatcher]) -> CallerTier:
    """Return a tier of the standard path with those of the other paths.

    `create` creates the dispatcher of a handle. Connections and refusals are counted together.
    """
    modes = dict.fromkeys(mode for path, mode in READ_MODES.items() if path != STANDARD)
    tiers = {mode: replace(tier, dispatcher=create(node.in_mode(mode))) for mode in modes}
    return replace(tier, others={path: tiers[mode] for path, mode in READ_MODES.items() if path != STANDARD})


def build_filters(settings: Settings) -> dict[str, TierFilters]:
    """Return the filters of each tier's callers: each of several workers has an equal share of all filters."""
    table, workers = FilterTable(), settings.listen.workers
    by_tier = {}
    for tier, lower in ((DEDICATED, (PUBLIC,)), (PUBLIC, ())):
        max_filters = max(1, settings.tier_filters(tier) // workers)
        by_tier[tier] = TierFilters(table, tier, max_filters, settings.tier_limits(tier).caller_filters, lower)
    return by_tier


def _matching(key: str, patterns: Iterable[str], methods: frozenset[str]) -> frozenset[str]:
    """Return the methods that match a list. Raises `SettingsError`."""
    matching: set[str] = set()
    for pattern in sorted(patterns):
        start = pattern.removesuffix("*")
        meant = {name for name in methods if name.startswith(start)} if start != pattern else {pattern} & methods
        if not meant:
            raise SettingsError(f"{key}: unknown method {pattern}", key)
        matching |= meant
    return frozenset(matching)
