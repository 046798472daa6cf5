"""Tables of the capacity page: many cores, big state and sustained load, from the files in benches/results."""

from collections.abc import Callable, Mapping
from typing import Any

from result_files import headings, load_if_measured, missing, origin, row

# Workers that use less of their cores wait for the generators.
_BUSY = 0.9
_STATE_READS = ("balance", "storage", "call", "proof")


def workers() -> str:
    """Return reads a second by call and number of workers."""
    report = load_if_measured("many_cores.json")
    if not report:
        return missing("many_cores.json")
    results = report["results"]
    scaled = {each["workers"]: each for each in report["per_added_core"]}
    names = [f"`{each['transport']}`, {each['workers']}" for each in results]
    lines = [origin(report), "", *headings("requests a second", *names)]
    for call in results[0]["reads"]:
        cells = []
        for each in results:
            read = each["reads"][call]
            added = f" ({scaled[each['workers']][call]:.2f})" if each["workers"] in scaled else ""
            full = "" if read["workers_cores"] > _BUSY * each["workers"] else " \\*"
            cells.append(f"{read['requests_per_second']:,.0f}{added}{full}")
        method, _, rest = call.partition(" ")
        lines.append(row(f"`{method}` {rest}".strip(), *cells))
    limits = [
        f"\\* {each['workers']} workers used {least:.1f} to {most:.1f} cores: the generators filled their "
        f"{len(each['placement']['generators'])}."
        for each in results
        if each["placement"]["is_parallel"]
        for least, most in [_used(each)]
        if least <= _BUSY * each["workers"]
    ]
    return "\n".join([*lines, "", *limits, "", "![Reads and submissions over workers](../images/many_cores.svg)"])


def _used(figures: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the most cores that workers used in the reads that did not fill their cores."""
    used = [read["workers_cores"] for read in figures["reads"].values()]
    below = [cores for cores in used if cores <= _BUSY * figures["workers"]]
    return min(below or used), max(below or used)


def send_cost() -> str:
    """Return submissions, steps and processor time of a transaction by number of workers."""
    report = load_if_measured("many_cores.json")
    if not report:
        return missing("many_cores.json")
    lines = headings(
        "transport, workers",
        "submissions, /s",
        "seen, ms, p50/p99",
        "step, ms, mean/p99",
        "sequencer, us",
        "its busiest thread, us",
        "each worker, us",
    )
    for each in report["results"]:
        sends, seen = each["sends"], each["until_seen"]
        lines.append(
            row(
                f"`{each['transport']}`, {each['workers']}",
                f"{each['submissions_per_second']:,}",
                f"{seen['p50_ms']:g}/{seen['p99_ms']:g}",
                f"{sends['step']['mean_ms']:g}/{sends['step']['p99_ms']:g}",
                f"{sends['sequencer_us']:g}",
                f"{sends['sequencer_busiest_thread_us']:g}",
                f"{sends['worker_us']:g}" if each["workers"] > 1 else "the same process",
            )
        )
    cost = report["send_us"]
    limit = (
        f"With workers, a transaction takes {cost['sequencer']:g} us of the sequencer, and "
        f"{cost['sequencer_per_worker']:g} us more for each worker.\nAt {report['rate']:,.0f} transactions a second, "
        f"one core feeds {report['max_workers_of_one_core']} workers."
    )
    return "\n".join([*lines, "", limit])


def state() -> str:
    """Return steps, reads and memory by number of holders, and their growth."""
    report = load_if_measured("big_state.json")
    if not report:
        return missing("big_state.json")
    limits = report["gas_limits"]
    lines = [
        origin(report),
        "",
        *headings(
            "holders",
            "first start, s (peak, MB)",
            "restart, s",
            *(f"step at {limit // 1_000_000:,}M, ms" for limit in limits),
            *(f"{kind}, /s, p99 ms" for kind in _STATE_READS),
            "anonymous, MB",
            "store and journal, MB",
        ),
    ]
    for each in report["results"]:
        first = each["first_start"]
        lines.append(
            row(
                f"{each['holders']:,}",
                f"{first['seconds']:g} ({first['peak_mb']:,})",
                f"{each['restart_seconds']:g}",
                *_state_cells(each),
                f"{each['measured_mb']['anonymous']:,}",
                f"{each['disk_mb']:,}",
            )
        )
    lines += ["", *headings("from", "to", "largest growth", "target 1.5 reached")]
    for each in report["growth"]:
        figures = [value for name, value in each.items() if name not in ("from", "to", "reached")]
        reached = "yes" if each["reached"] else "no"
        lines.append(row(f"{each['from']:,}", f"{each['to']:,}", f"{max(figures):.2f}", reached))
    return "\n".join([*lines, "", "![Step time and memory over holders](../images/big_state.svg)"])


def limited() -> str:
    """Return the figures of the node with a memory limit."""
    report = load_if_measured("big_state.json")
    run = report.get("limited")
    if not run:
        return missing("big_state.json") if not report else "Not measured: the machine could not limit memory."
    limits = report["gas_limits"]
    cells = [
        ("holders, store in MB", f"{run['holders']:,}, {run['state_mb']:,}"),
        ("limit, peak of the group in MB", f"{run['limit_mb']:,}, {run['group_peak_mb']:,}"),
        ("anonymous, resident in MB", f"{run['measured_mb']['anonymous']:,}, {run['measured_mb']['resident']:,}"),
        ("restart", f"{run['restart_seconds']:g} s"),
        ("answers compared with the genesis", f"{run['checked_answers']:,}"),
    ]
    cells += [
        (f"step at {limit // 1_000_000:,}M", f"{each['step_ms']:g} ms")
        for limit, each in zip(limits, run["steps"], strict=True)
    ]
    for part, title in (("reads", "random holders"), ("reads_of_working_set", "10,000 holders")):
        for kind in _STATE_READS:
            figures = run[part][kind]
            cells.append((f"{kind}, {title}", f"{figures['requests_per_second']:,} /s, p99 {figures['p99_ms']:g} ms"))
    return "\n".join([*headings("figure", "value"), *(row(*pair) for pair in cells)])


def sustained() -> str:
    """Return the targets of the sustained load and what was measured."""
    report = load_if_measured("sustained.json")
    if not report:
        return missing("sustained.json")
    reached = {name: "yes" if is_reached else "no" for name, is_reached in report["reached"].items()}
    backlog, memory = report["backlog"], report["memory"]
    growth = f"{memory['anonymous_mb_second_quarter']:g} MB, {memory['anonymous_mb_last_quarter']:g} MB"
    lines = [
        origin(report),
        "",
        f"{report['sent']['accepted']:,} transactions in {report['seconds'] / 60:g} minutes, "
        f"{report['rate']:,} a second; the highest rate of the search was {report.get('highest_rate', 0):,}. "
        f"{report['subscribers']['count']} subscribers got {report['subscribers']['notifications']:,} notifications.",
        "",
        *headings("figure", "measured", "target", "reached"),
        row(
            "interval between two steps, p50, p99, max",
            _quantiles(report["interval"]),
            "p99 220 ms",
            reached["cadence"],
        ),
        row(
            "submission until visible, p50, p99, max",
            _quantiles(report["submit_until_visible"]),
            "p99 250 ms",
            reached["delay"],
        ),
        row(
            "backlog of the store, second and last quarter",
            f"{backlog['second_quarter']:,}, {backlog['last_quarter']:,}",
            "flat",
            reached["backlog"],
        ),
        row("anonymous memory, second and last quarter", growth, "flat", reached["memory"]),
    ]
    return "\n".join([*lines, "", "![Each second of the run](../images/sustained.svg)"])


def _state_cells(figures: Mapping[str, Any]) -> list[str]:
    steps = [f"{each['step_ms']:g}" for each in figures["steps"]]
    reads = [figures["reads"][kind] for kind in _STATE_READS]
    return [*steps, *(f"{each['requests_per_second']:,}, {each['p99_ms']:g}" for each in reads)]


def _quantiles(quantiles: Mapping[str, float]) -> str:
    return f"{quantiles['p50_ms']:g}, {quantiles['p99_ms']:g}, {quantiles['max_ms']:g} ms"


PARTS: dict[str, Callable[[], str]] = {
    "capacity_workers": workers,
    "capacity_send_cost": send_cost,
    "capacity_state": state,
    "capacity_limited": limited,
    "capacity_sustained": sustained,
}
"""Renderer of each part, by the name of the part."""
