"""Table of all metrics, the source of `/metrics` and docs/reference/metrics.md."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from foreseal.bounded_cache import BoundedCache
from foreseal.rpc.call_metrics import BOUNDS
from foreseal.server.metrics.cluster_families import CLUSTER
from foreseal.server.metrics.engine_families import ENGINE
from foreseal.server.metrics.family import Family, MetricType, Sample, histogram
from foreseal.server.metrics.read import ConnectedFollower, Readings

_FOLLOWER_ROLES = ("standby", "replica", "worker")


def _scalar(
    name: str, kind: MetricType, help: str, value: Callable[[Readings], float | None], *, prefix: str = "foreseal_"
) -> Family:
    """Return a metric with a single value; None for no sample."""

    def read(readings: Readings) -> Iterable[Sample]:
        figure = value(readings)
        return () if figure is None else (Sample({}, figure),)

    return Family(prefix + name, kind, help, read)


def _many(name: str, kind: MetricType, help: str, label: str, values: Callable[[Readings], dict[str, float]]) -> Family:
    """Return a metric with one sample for each value of a label."""

    def read(readings: Readings) -> Iterable[Sample]:
        return (Sample({label: mark}, value) for mark, value in values(readings).items())

    return Family("foreseal_" + name, kind, help, read, (label,))


def _times(name: str, help: str, duration: Callable[[Readings], dict[str, Any]]) -> Family:
    """Return a histogram that the core has measured."""

    def read(readings: Readings) -> Iterable[Sample]:
        times = duration(readings)
        return histogram({}, readings.metrics["bounds"], times["counts"], times["seconds"])

    return Family(f"foreseal_{name}_seconds", "histogram", help, read)


def _step_phases(readings: Readings) -> Iterable[Sample]:
    for phase, times in readings.metrics["parts"].items():
        yield from histogram({"part": phase}, readings.metrics["bounds"], times["counts"], times["seconds"])


def _calls(readings: Readings) -> Iterable[Sample]:
    for method, count in readings.counts.answered.items():
        yield Sample({"method": method, "outcome": "ok"}, count)
    for (method, code), count in readings.counts.failed.items():
        yield Sample({"method": method, "outcome": str(code)}, count)


def _refused(readings: Readings) -> Iterable[Sample]:
    for tier in readings.tiers:
        for reason, count in tier.refusals.items():
            yield Sample({"tier": tier.name, "reason": reason}, count)


def _restarts(readings: Readings) -> Iterable[Sample]:
    for process in readings.processes:
        for reason, count in process.restarts.items():
            yield Sample({"child": process.name, "reason": reason}, count)


def _call_times(readings: Readings) -> Iterable[Sample]:
    for method, timing in readings.counts.timings.items():
        yield from histogram({"method": method}, BOUNDS, timing.cumulative(), timing.seconds)


def _follower_counts(readings: Readings) -> Iterable[Sample]:
    counts = Counter(follower.role for follower in readings.followers)
    # A node that works alone has no standby to miss.
    roles = _FOLLOWER_ROLES if readings.cluster else ("worker",)
    return [Sample({"role": role}, counts[role]) for role in roles]


def _followers(name: str, help: str, value: Callable[[ConnectedFollower], float]) -> Family:
    """Return a metric with a sample for each follower."""

    def read(readings: Readings) -> Iterable[Sample]:
        # Two followers with one name and role would be one series.
        values = {(follower.name, follower.role): value(follower) for follower in readings.followers}
        return [Sample({"follower": mark, "role": role}, number) for (mark, role), number in values.items()]

    return Family("foreseal_" + name, "gauge", help, read, ("follower", "role"))


def _lanes(name: str, kind: MetricType, help: str, field: str) -> Family:
    """Return a metric with a sample for each lane of the scheduler."""
    return _many(
        name,
        kind,
        help,
        "lane",
        lambda r: {lane: lane_metrics[field] for lane, lane_metrics in r.metrics["lanes"].items()},
    )


def _caches(name: str, kind: MetricType, help: str, value: Callable[[BoundedCache[Any, Any]], float]) -> Family:
    """Return a metric with a sample for each cache of the endpoint."""
    return _many(f"cache_{name}", kind, help, "cache", lambda r: {mark: value(c) for mark, c in r.caches.items()})


def _cache_metrics(field: str) -> Callable[[Readings], dict[str, float]]:
    """Return a reader of a metric of the core's caches, by cache."""
    return lambda readings: {cache: cache_metrics[field] for cache, cache_metrics in readings.metrics["caches"].items()}


def _cache_misses(readings: Readings) -> dict[str, float]:
    endpoint: dict[str, float] = {name: cache.misses for name, cache in readings.caches.items()}
    return endpoint | _cache_metrics("misses")(readings)


def _queue_times(readings: Readings) -> Iterable[Sample]:
    for lane, lane_metrics in readings.metrics["lanes"].items():
        yield from histogram(
            {"lane": lane}, lane_metrics["bounds"], lane_metrics["queue"]["counts"], lane_metrics["queue"]["seconds"]
        )


def _ended(readings: Readings) -> Iterable[Sample]:
    for lane, lane_metrics in readings.metrics["lanes"].items():
        for reason, count in lane_metrics["ended"].items():
            yield Sample({"lane": lane, "reason": reason}, count)


def _store(name: str) -> Callable[[Readings], float | None]:
    """Return a reader of the store in `foreseal_status`; None while the node starts."""
    return lambda readings: None if readings.status.get("store") is None else readings.status["store"][name]


def _scrub(name: str) -> Callable[[Readings], float | None]:
    """Return a reader of the store's scrub in `foreseal_status`; None while the node starts or before a scrub."""
    return lambda readings: None if readings.status.get("store") is None else readings.status["store"]["scrub"][name]


def _store_head(readings: Readings) -> float | None:
    store = readings.status.get("store")
    return None if store is None else -1 if store["head"] is None else int(store["head"], 16)


_CHAIN = (
    _scalar("view_block", "gauge", "Number of the block under construction.", lambda r: r.freshness[0]),
    _scalar(
        "view_index", "gauge", "Index of the newest step of the block under construction.", lambda r: r.freshness[1]
    ),
    _scalar("view_age_seconds", "gauge", "Time since the last tick.", lambda r: r.freshness[2] / 1000),
    _scalar(
        "clock_lead_seconds",
        "gauge",
        "Time by which the newest block sealed by this process is ahead of its clock.",
        lambda r: r.status.get("clockLead", 0) / 1000,
    ),
    _scalar("ready", "gauge", "1 if the node is ready, 0 if not.", lambda r: int(r.node.ready()[0])),
    _scalar("blocks_total", "counter", "Blocks sealed by this process.", lambda r: r.metrics["blocks"]),
    _scalar(
        "steps_total", "counter", "Steps with transactions published by this process.", lambda r: r.metrics["steps"]
    ),
    _scalar("transactions_total", "counter", "Transactions included in steps.", lambda r: r.metrics["transactions"]),
    _scalar("gas_total", "counter", "Gas used by the transactions in steps.", lambda r: r.metrics["gas"]),
)

_STEP = (
    _times(
        "step",
        "Duration of a step, from selection to removal of its transactions from the pool.",
        lambda r: r.metrics["step"],
    ),
    Family(
        "foreseal_step_part_seconds",
        "histogram",
        "Duration of building a step by phase: select, execute, roots, sync (journal), publish, pool (removals).",
        _step_phases,
        ("part",),
    ),
)

_POOL = (
    _many(
        "pool_transactions",
        "gauge",
        "Transactions in the pool, ready or queued.",
        "state",
        lambda r: {"ready": r.status["pool"]["pooled"], "queued": r.status["pool"]["queued"]},
    ),
    _scalar("pool_bytes", "gauge", "Size of the transactions in the pool.", lambda r: r.status["pool"]["bytes"]),
    _scalar("pool_added_total", "counter", "Transactions that entered the pool.", lambda r: r.metrics["pool"]["added"]),
    _scalar(
        "pool_replaced_total",
        "counter",
        "Transactions replaced in the pool.",
        lambda r: r.metrics["pool"]["replaced"],
    ),
    _many(
        "pool_dropped_total",
        "counter",
        "Transactions removed from the pool without inclusion, by reason.",
        "reason",
        lambda r: r.metrics["pool"]["dropped"],
    ),
)

_JOURNAL = (
    _times(
        "journal_append", "Duration of an append to the journal, until it is durable.", lambda r: r.metrics["append"]
    ),
    _scalar(
        "journal_written_bytes_total",
        "counter",
        "Bytes written to the journal.",
        lambda r: r.metrics["journal"]["written"],
    ),
    _scalar("journal_segments", "gauge", "Segment files of the journal.", lambda r: r.metrics["journal"]["segments"]),
)

_STORE = (
    _scalar("store_block", "gauge", "Number of the newest stored block; -1 for none.", _store_head),
    _scalar(
        "store_backlog",
        "gauge",
        "Sealed transactions not yet stored, plus 500 per block.",
        _store("backlog"),
    ),
    _scalar(
        "store_share",
        "gauge",
        "Builder throttle: 1 is unthrottled, less than 1 means that the store is behind.",
        _store("share"),
    ),
    _times("store_commit", "Duration of a transaction of the store.", lambda r: r.metrics["commit"]),
    _scalar("store_bytes", "gauge", "Bytes of the store in use.", lambda r: r.metrics["store"]["used"]),
    _scalar("store_scrub_bytes_total", "counter", "Bytes of the store read by the scrub.", _scrub("total")),
    _scalar("store_scrub_passes_total", "counter", "Complete passes of the scrub.", _scrub("passes")),
    _scalar("store_scrub_damaged_pages", "gauge", "Damaged pages found by the scrub.", _scrub("damaged")),
    _scalar(
        "store_scrub_unchecked_pages", "gauge", "Pages without a checksum found by the scrub.", _scrub("unchecked")
    ),
    _scalar("store_scrub_errors_total", "counter", "Failed reads of the scrub, to be retried.", _scrub("errors")),
    _scalar(
        "store_scrub_last_timestamp_seconds",
        "gauge",
        "Unix time of the last complete pass of the scrub.",
        _scrub("last"),
    ),
    _scalar(
        "store_limit_bytes", "gauge", "Maximum size of the store (--store-map).", lambda r: r.metrics["store"]["limit"]
    ),
    _scalar(
        "store_readers",
        "gauge",
        "Peak of concurrent reads of the store, over all processes.",
        lambda r: r.metrics["store"]["readers"],
    ),
)

_CALLS = (
    Family(
        "foreseal_calls_total",
        "counter",
        "Calls by method and outcome: ok or an error code.",
        _calls,
        ("method", "outcome"),
    ),
    Family(
        "foreseal_call_seconds",
        "histogram",
        "Duration of a call, from body to response, by method.",
        _call_times,
        ("method",),
    ),
    Family(
        "foreseal_refused_total",
        "counter",
        "Calls and handshakes rejected by limits of callers and of the process, by tier and reason.",
        _refused,
        ("tier", "reason"),
    ),
    _scalar("calls_slow_total", "counter", "Calls logged as slow.", lambda r: r.counts.slow_calls),
    _scalar(
        "calls_in_flight",
        "gauge",
        "Calls running on a worker thread, or waiting for a thread or a step.",
        lambda r: r.node.running,
    ),
)

_SCHEDULER = (
    Family(
        "foreseal_queue_seconds",
        "histogram",
        "Queueing time of calls, by lane.",
        _queue_times,
        ("lane",),
    ),
    _lanes("lane_waiting", "gauge", "Calls waiting for a worker thread, by lane.", "waiting"),
    _lanes("lane_running", "gauge", "Calls running on a worker thread, by lane.", "running"),
    _lanes("lane_oldest_seconds", "gauge", "Age of the oldest waiting call, by lane.", "oldest"),
    _lanes("lane_cpu_seconds_total", "counter", "Processor time of calls on worker threads, by lane.", "cpu"),
    _lanes("lane_paused_total", "counter", "Preemptions of long calls, by lane.", "paused"),
    Family(
        "foreseal_calls_ended_total",
        "counter",
        "Calls that did not complete, by lane and reason.",
        _ended,
        ("lane", "reason"),
    ),
)

_FOLLOWERS = (
    Family("foreseal_followers", "gauge", "Followers connected to this process, by role.", _follower_counts, ("role",)),
    _followers("follower_lag", "Lag of a connected follower in journal appends.", lambda follower: follower.lag),
    _followers(
        "follower_connected_seconds",
        "Time since the follower connected.",
        lambda follower: follower.connected / 1000,
    ),
)

_PROCESSES = (
    Family(
        "foreseal_restarts_total",
        "counter",
        "Processes restarted by the supervisor, by name and reason: died or wedged.",
        _restarts,
        ("child", "reason"),
    ),
    _many(
        "heartbeat_age_seconds",
        "gauge",
        "Time since the last heartbeat of a process.",
        "child",
        lambda r: {process.name: process.heartbeat_age for process in r.processes if process.heartbeat_age is not None},
    ),
)

_STREAMS = (
    _scalar("connections", "gauge", "Open WebSocket connections.", lambda r: len(r.streams)),
    _scalar(
        "connections_evicted_total",
        "counter",
        "WebSocket connections evicted in favour of other callers.",
        lambda r: r.streams.evicted,
    ),
    _scalar(
        "filters",
        "gauge",
        "Filters of callers of this process, including expired ones that are not yet removed.",
        lambda r: None if r.filters is None else len(r.filters.table),
    ),
    _scalar(
        "filters_evicted_total",
        "counter",
        "Filters evicted in favour of other callers.",
        lambda r: None if r.filters is None else r.filters.table.evicted,
    ),
    _scalar(
        "connections_refused_total",
        "counter",
        "Handshakes rejected at the connection limit.",
        lambda r: r.streams.refused,
    ),
    _scalar(
        "connections_slow_total",
        "counter",
        "Connections closed with 1013: slow client or lost notifications.",
        lambda r: r.streams.slow,
    ),
    _caches("entries", "gauge", "Entries in a cache of the endpoint, by cache.", len),
    _many("cache_misses_total", "counter", "Cache misses, by cache.", "cache", _cache_misses),
    _many(
        "cache_hits_total",
        "counter",
        "Cache hits of the core, by cache.",
        "cache",
        _cache_metrics("hits"),
    ),
    _many("cache_bytes", "gauge", "Size of the entries in a cache of the core.", "cache", _cache_metrics("bytes")),
    _many(
        "cache_capacity_bytes",
        "gauge",
        "Maximum size of a cache of the core; 0 if it is disabled.",
        "cache",
        _cache_metrics("capacity"),
    ),
    _caches("evicted_total", "counter", "Entries evicted from a cache of the endpoint, by cache.", lambda c: c.evicted),
    _many("subscriptions", "gauge", "Subscriptions by kind.", "kind", lambda r: dict(r.streams.hub.kinds)),
    _scalar("notifications_total", "counter", "Notifications sent.", lambda r: r.streams.hub.traffic.notified),
    _scalar(
        "lagged_total",
        "counter",
        "Occasions on which a reader of the feed missed steps.",
        lambda r: r.streams.hub.traffic.lagged,
    ),
)


def _process(name: str, kind: MetricType, help: str, value: Callable[[Readings], float]) -> Family:
    return _scalar(name, kind, help, value, prefix="process_")


_PROCESS = (
    _process(
        "resident_memory_bytes",
        "gauge",
        "Resident memory, including cached pages of the store.",
        lambda r: r.process.resident,
    ),
    _process("open_fds", "gauge", "Open file descriptors.", lambda r: r.process.descriptors),
    _process("max_fds", "gauge", "Maximum number of open file descriptors.", lambda r: r.process.max_descriptors),
    _process("threads", "gauge", "Threads.", lambda r: r.process.threads),
    _process("cpu_seconds_total", "counter", "Processor time.", lambda r: r.process.cpu),
    _process(
        "start_time_seconds", "gauge", "Start time of the process since the Unix epoch.", lambda r: r.process.started
    ),
    _scalar(
        "memory_used_bytes",
        "gauge",
        "Memory allocated by the core and the interpreter, sampled every 10 s.",
        lambda r: r.metrics["memory"]["used"],
    ),
    _scalar(
        "memory_free_bytes",
        "gauge",
        "Freed memory retained by the process, sampled every 10 s.",
        lambda r: r.metrics["memory"]["free"],
    ),
    _scalar(
        "memory_mapped_bytes",
        "gauge",
        "Resident pages of the store and other mapped files, sampled every 10 s. The kernel can reclaim them.",
        lambda r: r.metrics["memory"]["mapped"],
    ),
    _scalar(
        "memory_trims_total",
        "counter",
        "Returns of free memory to the kernel.",
        lambda r: r.metrics["memory"]["trims"],
    ),
    Family(
        "foreseal_build_info",
        "gauge",
        "Constant 1, labelled with version, Python version and machine.",
        lambda r: (Sample(r.build, 1),),
        ("version", "python", "machine"),
    ),
)

FAMILIES = (
    *_CHAIN,
    *_STEP,
    *_POOL,
    *_JOURNAL,
    *_STORE,
    *_CALLS,
    *_SCHEDULER,
    *_FOLLOWERS,
    *CLUSTER,
    *ENGINE,
    *_PROCESSES,
    *_STREAMS,
    *_PROCESS,
)
"""All metrics, in the order of the text."""
