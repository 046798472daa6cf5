"""Verdict and charts of a sustained load."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from benches.load.lanes import quantiles
from benches.load.line_chart import Line, Panel, line_charts
from benches.sustained.watch import Prober, Watch

from day.campaign import ring_kb
from soak.samples import Growth, Sample, growth_of

STEP_MS = 200
MAX_INTERVAL_MS, MAX_DELAY_MS = 220.0, 250.0
# Growth of the mean backlog from the second quarter to the last one that is no growth, as a ratio and in transactions.
_BACKLOG_RATIO, _BACKLOG_MARGIN = 1.1, 2_000.0
# Rows that a chart shows; more are merged by their maximum.
_CHART_ROWS = 450


def summary(watch: Watch, prober: Prober, seconds: float, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return cadence, delay, backlog and memory, and `reached` for each target."""
    begin = watch.samples[0].at
    intervals = [after - before for before, after in pairwise(watch.steps) if begin <= after < begin + seconds]
    delays = [shown - prober.due[name] for name, shown in prober.shown.items()]
    backlog = [float(row["backlog"]) for row in rows]
    quarter = len(backlog) // 4
    before, after = fmean(backlog[quarter : 2 * quarter]), fmean(backlog[-quarter:])
    growth = memory_growth(watch)
    interval, delay = quantiles(intervals), quantiles(delays)
    return {
        "steps": len(intervals) + 1,
        "interval": interval,
        "probes": len(prober.due),
        "probes_shown": len(delays),
        "submit_until_visible": delay,
        "backlog": {"second_quarter": round(before), "last_quarter": round(after), "max": max(backlog)},
        "memory": {
            "anonymous_mb_second_quarter": growth.second_quarter_mb,
            "anonymous_mb_last_quarter": growth.last_quarter_mb,
            "mb_in_ten_minutes": growth.mb_in_ten_minutes,
            "resident_mb_max": max(row["resident_mb"] for row in rows),
        },
        "min_throttle": min(sample.metrics["throttle"] for sample in watch.samples),
        "reached": {
            "cadence": interval["p99_ms"] <= MAX_INTERVAL_MS,
            "delay": delay["p99_ms"] <= MAX_DELAY_MS and len(delays) == len(prober.due),
            "backlog": after <= _BACKLOG_RATIO * before + _BACKLOG_MARGIN,
            "memory": growth.is_flat,
        },
    }


def memory_growth(watch: Watch) -> Growth:
    """Return the growth of anonymous memory, without the ring of arrival hashes."""
    begin = watch.samples[0]
    samples = []
    for sample in watch.samples:
        ring = ring_kb(round(sample.metrics["transactions"])) / 1024
        anonymous, resident = sample.anonymous / 2**20, sample.resident / 2**20
        samples.append(Sample(sample.at - begin.at, anonymous, resident, 0, 0, sample.cpu, ring))
    return growth_of(samples)


def charts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the plots of a run over its seconds."""
    every = max(1, -(-len(rows) // _CHART_ROWS))
    merged = [rows[at : at + every] for at in range(0, len(rows), every)]
    seconds = [float(group[0]["second"]) for group in merged]

    def line(name: str, key: str) -> Line:
        return Line(name, [float(max(row[key] for row in group)) for group in merged])

    return line_charts(
        [
            Panel("Transactions a second", seconds, [line("included", "included_per_second")]),
            Panel(
                "Longest interval between two steps, ms",
                seconds,
                [line("interval", "longest_interval_ms")],
                MAX_INTERVAL_MS,
            ),
            Panel(
                "Longest time from submission until visible, ms",
                seconds,
                [line("delay", "longest_delay_ms")],
                MAX_DELAY_MS,
            ),
            Panel("Backlog of the store, transactions", seconds, [line("backlog", "backlog")]),
            Panel(
                "Memory, MB",
                seconds,
                [line("anonymous", "anonymous_mb"), line("with pages of the store", "resident_mb")],
            ),
        ],
        "seconds",
    )
