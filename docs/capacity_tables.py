"""Tables of the capacity page: many cores, big state and sustained load, from the files in benches/results."""

from collections.abc import Callable, Mapping
from typing import Any

from result_files import headings, load_if_measured, missing, origin, row

_READS = ("eth_blockNumber", "eth_getBalance", "eth_call", "eth_call of 260,000 gas", "eth_getBlockByNumber")
_STATE_READS = ("balance", "storage", "call", "proof")


def workers() -> str:
    """Return rates, processor times, steps and lag by transport and number of workers."""
    report = load_if_measured("many_cores.json")
    if not report:
        return missing("many_cores.json")
    lines = [
        origin(report),
        "",
        *headings(
            "transport, workers",
            "own core each",
            *(f"`{call}`, /s, us" for call in _READS),
            "submissions, /s",
            "step, ms, mean",
            "sequencer, us per transaction",
            "worker, us per transaction",
            "seen, ms, p50/p99",
        ),
    ]
    for each in report["results"]:
        reads, sends, seen = each["reads"], each["sends"], each["until_seen"]
        lines.append(
            row(
                f"{each['transport']}, {each['workers']}",
                "yes" if each["placement"]["is_parallel"] else "no",
                *(f"{reads[call]['requests_per_second']:,.0f}, {reads[call]['worker_us']:.1f}" for call in _READS),
                f"{each['submissions_per_second']:,}",
                f"{sends['step']['mean_ms']:g}",
                f"{sends['sequencer_us']:g}",
                f"{sends['worker_us']:g}" if each["workers"] > 1 else "the same process",
                f"{seen['p50_ms']:g}/{seen['p99_ms']:g}",
            )
        )
    return "\n".join([*lines, "", "![Reads a second over workers](../images/many_cores.svg)"])


def model() -> str:
    """Return the measured costs and the predictions of the model."""
    report = load_if_measured("many_cores.json")
    if not report:
        return missing("many_cores.json")
    found = report["model"]
    send = found["send_us"]
    costs = headings("work", "processor time, us", "serial share")
    costs += [
        row(f"`{call}`, one worker", f"{found['read_us'][call]:g}", f"{found['serial_share'][call]:g}")
        for call in _READS
    ]
    costs += [
        row(
            "transaction, all threads of the sequencer",
            f"{send['sequencer']:g} + {send['sequencer_per_worker']:g} for each worker",
            "",
        ),
        row(
            "transaction, busiest thread of the sequencer",
            f"{send['serial']:g} + {send['serial_per_worker']:g} for each worker",
            "1",
        ),
        row("transaction, each worker", f"{send['worker']:g}", ""),
    ]
    predicted = headings("workers", *(f"`{call}`, /s (per added core)" for call in _READS), "transactions, /s")
    for each in found["predicted"]:
        reads = (f"{each[call]:,} ({each[f'{call} per added core']:.2f})" for call in _READS)
        predicted.append(row(str(each["workers"]), *reads, f"{each['max_sends']:,}"))
    limit = (
        f"At {found['rate']:,.0f} transactions a second, one core feeds {found['max_workers_of_one_core']} workers "
        "or fewer (the model stops at 256)."
    )
    return "\n".join([*costs, "", *predicted, "", limit])


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
    found = report.get("limited")
    if not found:
        return missing("big_state.json") if not report else "Not measured: the machine could not limit memory."
    limits = report["gas_limits"]
    cells = [
        ("holders, store in MB", f"{found['holders']:,}, {found['state_mb']:,}"),
        ("limit, peak of the group in MB", f"{found['limit_mb']:,}, {found['group_peak_mb']:,}"),
        ("anonymous, resident in MB", f"{found['measured_mb']['anonymous']:,}, {found['measured_mb']['resident']:,}"),
        ("restart", f"{found['restart_seconds']:g} s"),
        ("answers compared with the genesis", f"{found['checked_answers']:,}"),
    ]
    cells += [
        (f"step at {limit // 1_000_000:,}M", f"{each['step_ms']:g} ms")
        for limit, each in zip(limits, found["steps"], strict=True)
    ]
    for part, title in (("reads", "random holders"), ("reads_of_working_set", "10,000 holders")):
        for kind in _STATE_READS:
            figures = found[part][kind]
            cells.append((f"{kind}, {title}", f"{figures['requests_per_second']:,} /s, p99 {figures['p99_ms']:g} ms"))
    return "\n".join([*headings("figure", "value"), *(row(*pair) for pair in cells)])


def sustained() -> str:
    """Return the targets of the sustained load and what was measured."""
    report = load_if_measured("sustained.json")
    if not report:
        return missing("sustained.json")
    reached = {name: "yes" if found else "no" for name, found in report["reached"].items()}
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
        row("steps, p50, p99, max", _quantiles(report["interval"]), "p99 220 ms", reached["cadence"]),
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


def _quantiles(found: Mapping[str, float]) -> str:
    return f"{found['p50_ms']:g}, {found['p99_ms']:g}, {found['max_ms']:g} ms"


PARTS: dict[str, Callable[[], str]] = {
    "capacity_workers": workers,
    "capacity_model": model,
    "capacity_state": state,
    "capacity_limited": limited,
    "capacity_sustained": sustained,
}
"""Renderer of each part, by the name of the part."""
