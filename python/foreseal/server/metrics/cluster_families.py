"""Metrics of a node that works with other machines; without samples on a node that works alone."""

from collections.abc import Callable, Iterable
from typing import Any

from foreseal.server.metrics.family import Family, MetricType, Sample, histogram
from foreseal.server.metrics.read import Readings

_ROLES = ("leader", "standby", "replica", "worker")
_FINDINGS = ("version", "single_node", "different_hashes", "alarm", "unreachable")


def _quorum(name: str, kind: MetricType, help: str, value: Callable[[dict[str, Any]], float]) -> Family:
    """Return a metric of a process that uses the quorum journal."""

    def read(readings: Readings) -> Iterable[Sample]:
        quorum = readings.cluster.get("quorum")
        return () if quorum is None else (Sample({}, value(quorum)),)

    return Family(f"foreseal_quorum_{name}", kind, help, read)


def _takeover(name: str, help: str, field: str) -> Family:
    """Return a metric of the last takeover by this process; `field` has ms."""

    def read(readings: Readings) -> Iterable[Sample]:
        takeover = readings.cluster.get("lastTakeover")
        return () if takeover is None else (Sample({"reason": takeover["reason"]}, takeover[field] / 1000),)

    return Family(f"foreseal_cluster_last_takeover_{name}", "gauge", help, read, ("reason",))


def _roles(readings: Readings) -> Iterable[Sample]:
    cluster = readings.cluster
    return [Sample({"role": role}, int(cluster["role"] == role)) for role in _ROLES] if cluster else ()


def _epoch(readings: Readings) -> Iterable[Sample]:
    cluster = readings.cluster
    return (Sample({}, cluster["epoch"]),) if cluster else ()


def _clock_difference(readings: Readings) -> Iterable[Sample]:
    if "quorum" not in readings.cluster:
        return ()
    return (Sample({}, readings.cluster.get("clockDifferenceMs", 0) / 1000),)


def _findings(readings: Readings) -> Iterable[Sample]:
    quorum = readings.cluster.get("quorum")
    if quorum is None:
        return ()
    codes = [finding["code"] for finding in quorum["findings"]]
    return [Sample({"code": code}, codes.count(code)) for code in _FINDINGS]


def _append_times(readings: Readings) -> Iterable[Sample]:
    if "quorum" not in readings.cluster:
        return ()
    times = readings.metrics["quorum_append"]
    return histogram({}, readings.metrics["bounds"], times["counts"], times["seconds"])


CLUSTER = (
    Family(
        "foreseal_cluster_role",
        "gauge",
        "1 for the role of this process in its cluster, 0 for the others.",
        _roles,
        ("role",),
    ),
    Family("foreseal_cluster_epoch", "gauge", "Number of the current ownership; each takeover adds one.", _epoch),
    Family(
        "foreseal_cluster_clock_difference_seconds",
        "gauge",
        "Time by which the clock of this standby is ahead of those of most members; 0 if it agrees.",
        _clock_difference,
    ),
    _quorum("ok", "gauge", "1 if etcd answered in the last second, 0 if not.", lambda quorum: int(quorum["ok"])),
    _quorum(
        "silence_seconds",
        "gauge",
        "Time since etcd last answered; on the leader, 0 unless a write is unanswered.",
        lambda quorum: quorum["silentMs"] / 1000,
    ),
    Family(
        "foreseal_quorum_append_seconds",
        "histogram",
        "Duration of the append of a step to etcd; the rest of foreseal_journal_append_seconds is the local journal.",
        _append_times,
    ),
    _quorum(
        "retained_bytes",
        "gauge",
        "Bytes of steps that etcd retains for standbys, on the leader.",
        lambda quorum: quorum["retainedBytes"],
    ),
    Family(
        "foreseal_quorum_findings",
        "gauge",
        "Faults that this process has found at the etcd members, by code.",
        _findings,
        ("code",),
    ),
    _takeover("timestamp_seconds", "Unix time at which this process last became the leader, by reason.", "at"),
    _takeover("fence_seconds", "Time from the decision to take over until etcd named this process.", "fenceMs"),
    _takeover("ready_seconds", "Time from the decision to take over until this process could produce.", "readyMs"),
)
"""Metrics of the cluster, in the order of the text."""
