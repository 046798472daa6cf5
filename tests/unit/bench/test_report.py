"""Latencies, plots and the page."""

import random
import statistics

from foreseal.bench.plots import bars
from foreseal.bench.report import page
from foreseal.bench.run_metrics import Latencies


def test_quantiles_are_computed_from_the_values() -> None:
    values = random.Random(1).sample(range(1, 10**9), 1001)
    merged = Latencies((value, 1) for value in values[:500])
    merged.add(Latencies((value, 1) for value in values[500:]))
    assert len(merged) == 1001
    assert merged.latency_at(0.5) == statistics.median(values) / 1e6
    assert merged.latency_at(1.0) == max(values) / 1e6
    assert merged.quantiles()["p99_ms"] == round(sorted(values)[990] / 1e6, 4)
    assert Latencies().latency_at(0.5) == 0


def test_bar_length_equals_its_value_and_text_is_escaped() -> None:
    drawn = bars([("<row>", [("a", 100.0, "100 & more"), ("b", 25.0, "25")])], ["a", "b"])
    widths = [float(part.split('"')[0]) for part in drawn.split('width="')[1:]]
    long, short = (width for width in widths if width > 10)
    assert long == 4 * short
    assert "&lt;row&gt;" in drawn
    assert "100 &amp; more" in drawn


def test_report_without_phases_shows_its_origin() -> None:
    report = dict.fromkeys(("commit", "dirty", "versions", "extent", "shape"), "x")
    machine = {"processor": "<cpu>", "cores": 2, "load": 0.5}
    text = page(
        {**report, "machine": machine, "date": "now", "peer": "a", "command": "c", "nodes": [], "generator": []}
    )
    assert "&lt;cpu&gt;" in text
    assert "<svg" not in text
