"""Tables of the page with cluster measurements, rendered from the files in benches/results."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "benches" / "results"
_SHORT_COMMIT = 8


def faults() -> str:
    """Return the counts of the fault campaign, and the times of its takeovers by fault."""
    report = _load("cluster_faults.json")
    if report is None:
        return _missing("cluster_faults.json")
    figures = report["figures"]
    violations = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in figures["violations"].items())
    lines = [
        _origin(report),
        "",
        f"{figures['faults']} faults in {figures['seconds']:,.0f} s on etcd {figures['etcd']}, {figures['owners']} "
        f"owners, {figures['accepted']:,} submissions accepted, {figures['shown']:,} steps shown. Violations: "
        f"{violations}.",
        "",
        "| fault | takeovers | fence held, p50/p99/max ms | first step, p50/p99/max ms |",
        "|---|---|---|---|",
    ]
    for fault, group in sorted(figures["takeovers_ms"].items()):
        cells = [_distribution(group.get(name)) for name in ("fence", "first_step")]
        lines.append(_row(fault, str(group["fence"]["count"]), *cells))
    return "\n".join(lines)


def cost() -> str:
    """Return the cost of the quorum journal by size of a step, next to the local journal."""
    report = _load("quorum_cost.json")
    if report is None:
        return _missing("quorum_cost.json")
    lines = [
        _origin(report),
        "",
        "| transactions of a step | journal | submit until visible, p50/p99 ms | append, p50/p99 ms | sends/s, median "
        "| node, ms of processor a step | etcd, ms of processor a step |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in report["results"]:
        sends = sorted(each["sends_per_second"])
        lines.append(
            _row(
                f"{each['step_size']:,} per {each['step_ms']} ms",
                each["journal"],
                _times(each["submit_until_visible"]),
                _times(each["append"]),
                f"{sends[len(sends) // 2]:,}",
                f"{each['node_cpu_ms_per_step']:.0f}",
                f"{each['etcd_cpu_ms_per_step']:.0f}",
            )
        )
    return "\n".join(lines)


def lag() -> str:
    """Return the lag of followers and the memory of leader and replicas by number of followers."""
    report = _load("replica_lag.json")
    if report is None:
        return _missing("replica_lag.json")
    lines = [
        _origin(report),
        "",
        "| followers | replicas: lag p50/p99/max ms | readers of frames: lag p50/p99/max ms | leader, MB "
        "| replica, MB | leader, cores |",
        "|---|---|---|---|---|---|",
    ]
    for each in report["results"]:
        memory = each["resident_mb"]
        lines.append(
            _row(
                f"{each['followers']}: {each['replicas']} replicas, {each['frame_readers']} readers",
                _times(each["lag_of_replicas"], "max_ms"),
                _times(each["lag_of_frame_readers"], "max_ms") if each.get("lag_of_frame_readers") else "-",
                f"{memory['leader']:.0f}",
                f"{memory['replicas']['median']:.0f}",
                f"{each['leader_cores']:.2f}",
            )
        )
    return "\n".join(lines)


def bootstrap() -> str:
    """Return time and effect of filling an empty replica."""
    report = _load("bootstrap.json")
    if report is None:
        return _missing("bootstrap.json")
    figures = report["results"]
    lines = [
        _origin(report),
        "",
        f"A chain of {figures['blocks']:,} blocks, {figures['leader_disk_mb']:,.0f} MB on the leader's disk: the "
        f"replica is ready after {figures['seconds']} s with {figures['replica_disk_mb']:,.0f} MB.",
        "",
        "| leader | ticks | interval, p50/p99/max ms | cores |",
        "|---|---|---|---|",
    ]
    for phase in ("before", "during"):
        ticks = figures[phase]
        cores = figures[f"leader_cores_{phase}"]
        lines.append(_row(phase, str(ticks["ticks"]), _times(ticks["interval"], "max_ms"), f"{cores:.2f}"))
    return "\n".join(lines)


def soak() -> str:
    """Return memory and disk use of each process over a long load."""
    report = _load("cluster_soak.json")
    if report is None:
        return _missing("cluster_soak.json")
    lines = [
        _origin(report),
        "",
        "| process | resident: start/end/max MB | growth in the second half, MB | disk: start/end MB |",
        "|---|---|---|---|",
    ]
    for name, each in report["processes"].items():
        resident, disk = each["resident_mb"], each["disk_mb"]
        lines.append(
            _row(
                name,
                f"{resident['start']:.0f}/{resident['end']:.0f}/{resident['max']:.0f}",
                f"{each['resident_growth_of_second_half_mb']:.1f}",
                f"{disk['start']:,.0f}/{disk['end']:,.0f}",
            )
        )
    return "\n".join(lines)


def upgrade() -> str:
    """Return reads and submissions during the restart of every process."""
    report = _load("cluster_upgrade.json")
    if report is None:
        return _missing("cluster_upgrade.json")
    lines = [
        _origin(report),
        "",
        "| restarted | seconds | failed reads | submissions | rejected at first | longest rejection, ms |",
        "|---|---|---|---|---|---|",
    ]
    for each in report["figures"]["phases"]:
        counts = ("failed_reads", "submissions", "rejected", "longest_rejection_ms")
        lines.append(_row(each["name"], f"{each['seconds']:.1f}", *(str(each[name]) for name in counts)))
    return "\n".join(lines)


def _origin(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    return (
        f"`{report['command']}` at commit `{report['commit'][:_SHORT_COMMIT]}`, profile {report['profile']}, "
        f"{machine['processor']} with {machine['cores']} cores, {report['date'][:10]}."
    )


def _times(figures: Mapping[str, Any], *more: str) -> str:
    return "/".join(f"{figures[name]:g}" for name in ("p50_ms", "p99_ms", *more))


def _distribution(figures: Mapping[str, int] | None) -> str:
    return "-" if figures is None else f"{figures['p50']}/{figures['p99']}/{figures['max']}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _missing(name: str) -> str:
    return f"Not measured: `benches/results/{name}` does not exist."


def _load(name: str) -> dict[str, Any] | None:
    file = RESULTS / name
    found: dict[str, Any] | None = json.loads(file.read_text()) if file.exists() else None
    return found


PARTS: Sequence[tuple[str, Callable[[], str]]] = (
    ("cluster_faults", faults),
    ("cluster_cost", cost),
    ("cluster_lag", lag),
    ("cluster_bootstrap", bootstrap),
    ("cluster_soak", soak),
    ("cluster_upgrade", upgrade),
)
"""Renderer of each part, by the name of the part."""
