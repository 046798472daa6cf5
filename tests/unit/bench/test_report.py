"""Latencies and the page."""

import json
import random
import re
import statistics
from html import escape

from bench_report import cell, report
from foreseal.bench.report import page
from foreseal.bench.run_metrics import Latencies
from repository import ROOT


def test_quantiles_are_computed_from_the_values() -> None:
    values = random.Random(1).sample(range(1, 10**9), 1001)
    merged = Latencies((value, 1) for value in values[:500])
    merged.add(Latencies((value, 1) for value in values[500:]))
    assert len(merged) == 1001
    assert merged.latency_at(0.5) == statistics.median(values) / 1e6
    assert merged.latency_at(1.0) == max(values) / 1e6
    assert merged.quantiles()["p99_ms"] == round(sorted(values)[990] / 1e6, 4)
    assert Latencies().latency_at(0.5) == 0


def test_buckets_are_ten_per_decade_and_count_every_latency() -> None:
    latencies = Latencies([(1_000_000, 3), (1_000_001, 2), (1_258_925, 1), (50_000_000, 4)])
    assert latencies.buckets() == {"1": 3, "1.259": 3, "50.12": 4}
    assert Latencies().buckets() == {}


def test_page_shows_cost_next_to_the_ratio_and_the_spread_of_the_runs() -> None:
    text = page(report(reads=[cell("a", 200, 15, 2.0), cell("b", 100, 60, None)]))
    heads = re.findall(r"<th>([^<]*)</th>", text[text.index("<h2>Reads, 16 connections") :])
    wanted = ["row", "node", "requests per second", "ratio", "cpu us per request", "cost ratio"]
    assert heads[:7] == [*wanted, "runs, smallest to largest"]
    assert heads[7:11] == ["p50 ms", "p90 ms", "p99 ms", "p999 ms"]
    assert "<td>200</td><td>2.0</td><td>15</td><td>0.25</td><td>199 to 201</td>" in text


def test_sends_have_their_cost_ratio() -> None:
    sent = {"row": "send, native", "transactions_per_second": 10, "rates_of_runs": [9, 11], "ratio": None}
    sends = [sent | {"node": "a", "cpu_us_per_transaction": 5.0}, sent | {"node": "b", "cpu_us_per_transaction": 10.0}]
    text = page(report(sends=sends))
    heads = re.findall(r"<th>([^<]*)</th>", text[text.index("<h2>Sends until included") :])
    wanted = ["row", "transactions per second", "ratio", "node", "cpu us per transaction", "cost ratio"]
    assert heads[:7] == [*wanted, "runs, smallest to largest"]
    assert "<td>5.0</td><td>0.5</td><td>9 to 11</td>" in text


def test_open_loop_names_the_offered_rate() -> None:
    offered = cell("a", 200, 15, 2.0) | {"offered_per_second": 1_234.5}
    assert "<td>call, 1,234/s</td>" in page(report(open_loop=[offered]))


def test_cost_of_a_node_elsewhere_is_unavailable() -> None:
    text = page(report(reads=[cell("a", 200, None, 2.0), cell("b", 100, 60, None)]))
    assert "<td>2.0</td><td>&ndash;</td><td>199 to 201</td>" in text


def test_page_has_both_colour_schemes_and_no_script() -> None:
    text = page(report(reads=[cell("a", 200, 15, 2.0), cell("b", 100, 60, None)]))
    assert "color-scheme: light dark" in text
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
    assert "http" not in text


def test_page_of_saved_results_has_every_row() -> None:
    saved = json.loads((ROOT / "benches" / "results" / "compare.json").read_text())
    text = page(saved)
    for row in {each["row"] for each in saved["reads"]}:
        assert f"<td>{escape(row)}</td>" in text


def test_report_without_phases_shows_its_origin() -> None:
    assert "&lt;cpu&gt;" in page(report(nodes=[]))
