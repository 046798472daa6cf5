"""Tables of the page with cluster measurements, rendered from the files in benches/results."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from result_files import headings, load_if_measured, missing, origin, row

Report = Mapping[str, Any]


def faults(report: Report) -> list[str]:
    """Return the counts of the fault campaign, and the times of its takeovers by fault."""
    figures = report["figures"]
    violations = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in figures["violations"].items())
    lines = [
        f"{figures['faults']} faults in {figures['seconds']:,.0f} s on etcd {figures['etcd']}, {figures['owners']} "
        f"owners, {figures['accepted']:,} submissions accepted, {figures['shown']:,} steps shown. Violations: "
        f"{violations}.",
        "",
        *headings("fault", "takeovers", "fence held, p50/p99/max ms", "first step, p50/p99/max ms"),
    ]
    for fault, group in sorted(figures["takeovers_ms"].items()):
        times = [_distribution(group.get(name)) for name in ("fence", "first_step")]
        lines.append(row(fault, str(group["fence"]["count"]), *times))
    return lines


def cost(report: Report) -> list[str]:
    """Return the cost of the quorum journal by size of a step, next to the local journal."""
    lines = headings(
        "transactions of a step",
        "journal",
        "submit until visible, p50/p99 ms",
        "append, p50/p99 ms",
        "sends/s, median",
        "node, ms of processor a step",
        "etcd, ms of processor a step",
    )
    for each in report["results"]:
        sends = sorted(each["sends_per_second"])
        lines.append(
            row(
                f"{each['step_size']:,} per {each['step_ms']} ms",
                each["journal"],
                _times(each["submit_until_visible"]),
                _times(each["append"]),
                f"{sends[len(sends) // 2]:,}",
                f"{each['node_cpu_ms_per_step']:.0f}",
                f"{each['etcd_cpu_ms_per_step']:.0f}",
            )
        )
    return lines


def lag(report: Report) -> list[str]:
    """Return the lag of followers and the memory of leader and replicas by number of followers."""
    lines = headings(
        "replicas",
        "readers of frames",
        "lag of replicas, p50/p99/max ms",
        "lag of readers, p50/p99/max ms",
        "leader, MB",
        "replica, MB",
        "leader, cores",
    )
    for each in report["results"]:
        memory = each["resident_mb"]
        lines.append(
            row(
                str(each["replicas"]),
                str(each["frame_readers"]),
                _times(each["lag_of_replicas"], "max_ms"),
                _times(each["lag_of_frame_readers"], "max_ms") if each.get("lag_of_frame_readers") else "-",
                f"{memory['leader']:.0f}",
                f"{memory['replicas']['median']:.0f}",
                f"{each['leader_cores']:.2f}",
            )
        )
    return lines


def bootstrap(report: Report) -> list[str]:
    """Return time and effect of filling an empty replica."""
    figures = report["results"]
    lines = [
        f"A chain of {figures['blocks']:,} blocks, {figures['leader_disk_mb']:,.0f} MB on the leader's disk: the "
        f"replica is ready after {figures['seconds']} s with {figures['replica_disk_mb']:,.0f} MB.",
        "",
        *headings("leader", "ticks", "interval, p50/p99/max ms", "cores"),
    ]
    for phase in ("before", "during"):
        ticks, cores = figures[phase], figures[f"leader_cores_{phase}"]
        lines.append(row(phase, str(ticks["ticks"]), _times(ticks["interval"], "max_ms"), f"{cores:.2f}"))
    return lines


def soak(report: Report) -> list[str]:
    """Return memory and disk use of each process over a long load."""
    lines = headings(
        "process", "resident: start/end MB", "anonymous: start/end/max MB", "growth in the second half, MB", "disk: MB"
    )
    for name, each in report["processes"].items():
        resident, anonymous, disk = each["resident_mb"], each["anonymous_mb"], each["disk_mb"]
        memory = "/".join(f"{anonymous[at]:.0f}" for at in ("start", "end", "max"))
        growth = f"{each['anonymous_growth_of_second_half_mb']:.1f}"
        both = f"{resident['start']:.0f}/{resident['end']:.0f}"
        lines.append(row(name, both, memory, growth, f"{disk['start']:,.0f}/{disk['end']:,.0f}"))
    return lines


def upgrade(report: Report) -> list[str]:
    """Return reads and submissions during the restart of every process."""
    lines = headings(
        "restarted", "seconds", "failed reads", "submissions", "rejected at first", "longest rejection, ms"
    )
    for each in report["figures"]["phases"]:
        counts = ("failed_reads", "submissions", "rejected", "longest_rejection_ms")
        lines.append(row(each["name"], f"{each['seconds']:.1f}", *(str(each[name]) for name in counts)))
    return lines


def _render(name: str, table: Callable[[Report], list[str]]) -> str:
    report = load_if_measured(name)
    return "\n".join([origin(report), "", *table(report)]) if report else missing(name)


def _times(figures: Report, *more: str) -> str:
    return "/".join(f"{figures[name]:g}" for name in ("p50_ms", "p99_ms", *more))


def _distribution(figures: Mapping[str, int] | None) -> str:
    return "-" if figures is None else f"{figures['p50']}/{figures['p99']}/{figures['max']}"


PARTS: Mapping[str, Callable[[], str]] = {
    f"cluster_{part}": partial(_render, f"{file}.json", table)
    for part, file, table in (
        ("faults", "cluster_faults", faults),
        ("cost", "quorum_cost", cost),
        ("lag", "replica_lag", lag),
        ("bootstrap", "bootstrap", bootstrap),
        ("soak", "cluster_soak", soak),
        ("upgrade", "cluster_upgrade", upgrade),
    )
}
"""Renderer of each part, by the name of the part."""
