"""Figures of a node, computed from two readings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreseal.top.fields import Fields
from foreseal.top.node_sample import NodeSample
from foreseal.top.prometheus import LatencyWindow, MetricsPage, PageChange
from foreseal.top.steps import OpenBlock

_MAX_FOLLOWERS = 50
_PERCENTILE = 0.99


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """Latencies in seconds between two readings; None without any."""

    mean: float | None = None
    p99: float | None = None

    @classmethod
    def of_window(cls, window: LatencyWindow) -> "LatencySummary":
        """Return the summary of a window."""
        return cls(window.mean, window.quantile(_PERCENTILE))


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane of the scheduler."""

    name: str
    waiting: float
    running: float
    oldest: float
    """Age of the oldest waiting call in seconds."""
    rate: float | None
    """Calls that left the queue per second."""
    queueing: LatencySummary
    ended: float | None
    """Calls that did not complete per second."""


@dataclass(frozen=True, slots=True)
class MethodRow:
    """Calls of a method."""

    name: str
    rate: float
    """Calls per second."""
    busy: float
    """Seconds of calls per second."""
    latency: LatencySummary


@dataclass(frozen=True, slots=True)
class CacheRow:
    """A cache of the core."""

    name: str
    used: float
    """In bytes."""
    capacity: float
    """In bytes."""
    hit_share: float | None
    """Hits per lookup between the readings; None without lookups."""
    lookups: float | None
    """Lookups per second."""


@dataclass(frozen=True, slots=True)
class FollowerRow:
    """A connected follower."""

    name: str
    role: str
    lag: float
    """In appends."""
    connected: float | None
    """In seconds."""


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """State of a cluster."""

    name: str
    role: str
    owner: str
    epoch: int | None
    quorum_ok: bool | None
    """None without a quorum journal."""
    silence: float | None
    """Seconds since etcd last answered."""
    append: LatencySummary
    findings: tuple[str, ...]
    """Faults of the etcd members."""


@dataclass(frozen=True, slots=True)
class NodeModel:
    """Figures of a node. Rates are per second, and None until there are two readings."""

    sample: NodeSample
    tx_rate: float | None = None
    gas_rate: float | None = None
    step: LatencySummary = field(default_factory=LatencySummary)
    append: LatencySummary = field(default_factory=LatencySummary)
    commit: LatencySummary = field(default_factory=LatencySummary)
    journal_bytes: float | None = None
    pool_added: float | None = None
    pool_replaced: float | None = None
    pool_dropped: Mapping[str, float] = field(default_factory=dict)
    """By reason."""
    calls: float | None = None
    errors: float | None = None
    rejected: Mapping[str, float] = field(default_factory=dict)
    """Calls rejected by limits, by reason."""
    in_flight: float | None = None
    connections: float | None = None
    notifications: float | None = None
    slow_connections: float | None = None
    lanes: tuple[LaneRow, ...] = ()
    methods: tuple[MethodRow, ...] = ()
    """Busiest first."""
    caches: tuple[CacheRow, ...] = ()
    followers: tuple[FollowerRow, ...] = ()
    cluster: ClusterSummary | None = None
    cpu: float | None = None
    """Processors in use."""
    memory: float | None = None
    """Resident bytes."""
    uptime: float | None = None
    """In seconds."""

    @property
    def status(self) -> Fields:
        """Result of `foreseal_status`."""
        return self.sample.status

    @property
    def block(self) -> OpenBlock | None:
        """The block under construction."""
        return self.sample.block


def build_node_model(before: NodeSample | None, after: NodeSample, wall: float) -> NodeModel:
    """Return the figures of a node. `wall` is the Unix time in seconds of the later reading."""
    tx_rate, gas_rate = _progress_rates(before, after)
    page = after.metrics
    cluster = _cluster(after.status, None)
    if page is None:
        return NodeModel(after, tx_rate, gas_rate, cluster=cluster, followers=_cluster_followers(after.status))
    seconds = 0.0 if before is None else after.time - before.time
    change = PageChange(None if before is None else before.metrics, page, seconds)
    started = page.total("process_start_time_seconds")
    return NodeModel(
        after,
        tx_rate,
        gas_rate,
        step=_latency(change, "foreseal_step_seconds"),
        append=_latency(change, "foreseal_journal_append_seconds"),
        commit=_latency(change, "foreseal_store_commit_seconds"),
        journal_bytes=change.rate("foreseal_journal_written_bytes_total"),
        pool_added=change.rate("foreseal_pool_added_total"),
        pool_replaced=change.rate("foreseal_pool_replaced_total"),
        pool_dropped=_active(change.rates("foreseal_pool_dropped_total", "reason")),
        calls=change.rate("foreseal_calls_total"),
        errors=_error_rate(change),
        rejected=_active(change.rates("foreseal_refused_total", "reason")),
        in_flight=page.total("foreseal_calls_in_flight"),
        connections=page.total("foreseal_connections"),
        notifications=change.rate("foreseal_notifications_total"),
        slow_connections=change.rate("foreseal_connections_slow_total"),
        lanes=_lanes(page, change),
        methods=_methods(change),
        caches=_caches(page, change),
        followers=_followers(page) or _cluster_followers(after.status),
        cluster=_cluster(after.status, change),
        cpu=change.rate("process_cpu_seconds_total"),
        memory=page.total("process_resident_memory_bytes"),
        uptime=None if started is None or len(page.by("process_start_time_seconds", "process")) > 1 else wall - started,
    )


def _progress_rates(before: NodeSample | None, after: NodeSample) -> tuple[float | None, float | None]:
    if before is None or after.time <= before.time or before.progress.generation != after.progress.generation:
        return None, None
    seconds = after.time - before.time
    return (
        (after.progress.transactions - before.progress.transactions) / seconds,
        (after.progress.gas - before.progress.gas) / seconds,
    )


def _latency(change: PageChange, name: str, **labels: str) -> LatencySummary:
    return LatencySummary.of_window(change.window(name, **labels))


def _active(rates: Mapping[str, float]) -> dict[str, float]:
    """Return the rates above 0, highest first."""
    return {name: rate for name, rate in sorted(rates.items(), key=lambda pair: -pair[1]) if rate > 0}


def _error_rate(change: PageChange) -> float | None:
    if not change.is_measured:
        return None
    return sum(rate for outcome, rate in change.rates("foreseal_calls_total", "outcome").items() if outcome != "ok")


def _lanes(page: MetricsPage, change: PageChange) -> tuple[LaneRow, ...]:
    running, oldest = page.by("foreseal_lane_running", "lane"), page.by("foreseal_lane_oldest_seconds", "lane")
    rates = change.rates("foreseal_queue_seconds_count", "lane")
    ended = change.rates("foreseal_calls_ended_total", "lane")
    return tuple(
        LaneRow(
            name,
            waiting,
            running.get(name, 0.0),
            oldest.get(name, 0.0),
            rates.get(name),
            _latency(change, "foreseal_queue_seconds", lane=name),
            ended.get(name),
        )
        for name, waiting in page.by("foreseal_lane_waiting", "lane").items()
    )


def _methods(change: PageChange) -> tuple[MethodRow, ...]:
    busy = change.rates("foreseal_call_seconds_sum", "method")
    rates = _active(change.rates("foreseal_call_seconds_count", "method"))
    return tuple(
        MethodRow(name, rate, busy.get(name, 0.0), _latency(change, "foreseal_call_seconds", method=name))
        for name, rate in list(rates.items())[:_MAX_FOLLOWERS]
    )


def _caches(page: MetricsPage, change: PageChange) -> tuple[CacheRow, ...]:
    capacities = page.by("foreseal_cache_capacity_bytes", "cache")
    hits, misses = (change.rates(f"foreseal_cache_{kind}_total", "cache") for kind in ("hits", "misses"))
    rows = []
    for name, used in page.by("foreseal_cache_bytes", "cache").items():
        lookups = hits[name] + misses.get(name, 0.0) if name in hits else None
        rows.append(CacheRow(name, used, capacities.get(name, 0.0), hits[name] / lookups if lookups else None, lookups))
    return tuple(rows)


def _followers(page: MetricsPage) -> tuple[FollowerRow, ...]:
    connected = page.by("foreseal_follower_connected_seconds", "follower")
    rows = []
    for labels, lag in page.series("foreseal_follower_lag"):
        label_values = dict(labels)
        name = label_values.get("follower", "-")
        rows.append(FollowerRow(name, label_values.get("role", "-"), lag, connected.get(name)))
    return tuple(rows[:_MAX_FOLLOWERS])


def _cluster_followers(status: Fields) -> tuple[FollowerRow, ...]:
    rows = []
    for each in status.child("cluster").items("followers", _MAX_FOLLOWERS):
        lag, connected = each.number("lag"), each.number("connectedMs")
        seconds = None if connected is None else connected / 1000
        rows.append(FollowerRow(each.text("name", 32), each.text("role", 16), lag or 0.0, seconds))
    return tuple(rows)


def _cluster(status: Fields, change: PageChange | None) -> ClusterSummary | None:
    cluster = status.child("cluster")
    if not cluster:
        return None
    quorum = cluster.child("quorum")
    silence = quorum.number("silentMs")
    return ClusterSummary(
        name=cluster.text("name", 32),
        role=cluster.text("role", 16),
        owner=cluster.text("owner", 32),
        epoch=cluster.quantity("epoch"),
        quorum_ok=quorum.flag("ok"),
        silence=None if silence is None else silence / 1000,
        append=LatencySummary() if change is None else _latency(change, "foreseal_quorum_append_seconds"),
        findings=tuple(each.text("code", 24) for each in quorum.items("findings", 5)),
    )
