"""Plots, and the page with them."""

import json
import re
from html import escape

import pytest
from benches.compare.plots import Bar, BarGroup, Distribution, DistributionGroup, draw_bars, draw_distributions
from benches.compare.plotted_report import plotted_page

from bench_report import cell, report
from repository import ROOT


def test_bar_length_equals_its_value_and_text_is_escaped() -> None:
    groups = [BarGroup("<row>", [Bar("a", 100.0, "100 & more"), Bar("b", 25.0, "25")])]
    drawn = draw_bars("<title>", groups, ["a", "b"])
    widths = [float(each.split('"')[0]) for each in drawn.split('width="')[1:]]
    long, short = (width for width in widths if width > 10)
    assert long == 4 * short
    assert "&lt;row&gt;" in drawn
    assert 'aria-label="&lt;title&gt;"' in drawn
    assert "100 &amp; more" in drawn


def test_spread_of_a_bar_reaches_from_the_slowest_to_the_fastest_run() -> None:
    drawn = draw_bars(
        "", [BarGroup("row", [Bar("a", 50.0, "50", [25.0, 50.0, 100.0]), Bar("b", 1.0, "1", [1.0])])], "ab"
    )
    ((low, high),) = re.findall(r'class="run" d="M([\d.]+) [\d.]+H([\d.]+)M', drawn)
    ((start, width), _) = re.findall(r'class="s[01]" x="(\d+)" y="(?!6")\d+" width="([\d.]+)"', drawn)
    assert float(width) == pytest.approx((float(high) - float(start)) / 2)
    assert float(low) - float(start) == pytest.approx((float(high) - float(start)) / 4)


def test_columns_and_marks_of_latencies_share_one_axis() -> None:
    distribution = Distribution(
        "a", {"1": 10, "10": 5}, {"p50_ms": 1.0, "p90_ms": 10.0, "p99_ms": 100.0, "p999_ms": 100.0}
    )
    drawn = draw_distributions(
        "", [DistributionGroup("row", [distribution, Distribution("b", {"100": 1}, {})])], ["a", "b"]
    )
    columns = [float(x) for x in re.findall(r"M([\d.]+) \d+v-", drawn)]
    heights = [float(height) for height in re.findall(r"v-([\d.]+)h", drawn)]
    marks = [float(x) for x in re.findall(r'class="quantile" d="M([\d.]+)', drawn)]
    decade = columns[1] - columns[0]
    assert columns[2] - columns[1] == pytest.approx(decade, abs=0.2)
    assert heights == [18, 9, 18]
    # A mark is at the end of the column of its bucket.
    assert [mark - marks[0] for mark in marks] == pytest.approx([0, decade, 2 * decade, 2 * decade], abs=0.2)
    assert marks[0] == pytest.approx(columns[0] + decade / 10, abs=0.2)
    assert "<title>a, p99.9: 100 ms</title>" in drawn
    assert draw_distributions("", [DistributionGroup("row", [Distribution("a", {}, {})])], ["a"]) == ""


def test_page_shows_cost_next_to_the_ratio_and_the_spread_of_the_runs() -> None:
    text = plotted_page(report(reads=[cell("a", 200, 15, 2.0), cell("b", 100, 60, None)]))
    assert ">200 (x2)</text>" in text
    assert ">15.0 (x0.25)</text>" in text
    assert ">60.0</text>" in text
    heads = re.findall(r"<th>([^<]*)</th>", text[text.index("<summary>Figures") :])
    wanted = ["row", "node", "requests per second", "ratio", "cpu us per request", "cost ratio"]
    assert heads[:7] == [*wanted, "runs, smallest to largest"]
    assert "<td>199 to 201</td>" in text
    assert heads[7:11] == ["p50 ms", "p90 ms", "p99 ms", "p999 ms"]
    assert text.count("<svg") == 3


def test_cost_of_a_node_elsewhere_is_unavailable() -> None:
    text = plotted_page(report(reads=[cell("a", 200, None, 2.0), cell("b", 100, 60, None)]))
    assert ">unavailable</text>" in text


def test_page_has_both_colour_schemes_and_no_script() -> None:
    text = plotted_page(report(reads=[cell("a", 200, 15, 2.0), cell("b", 100, 60, None)]))
    assert "color-scheme: light dark" in text
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    # Every colour is a variable of the page.
    assert re.findall(r'(?:fill|stroke)="', text) == []


def test_page_of_saved_results_has_every_row() -> None:
    saved = json.loads((ROOT / "benches" / "results" / "compare.json").read_text())
    text = plotted_page(saved)
    for row in {each["row"] for each in saved["reads"]}:
        assert f'text-anchor="end">{escape(row)}</text>' in text


def test_report_without_phases_shows_its_origin() -> None:
    text = plotted_page(report(nodes=[]))
    assert "&lt;cpu&gt;" in text
    assert "<svg" not in text


def test_page_lists_long_chains_and_flame_graphs() -> None:
    sections = {"scale": [{"blocks": 1_000, "row": "call"}], "profiles": [{"row": "call", "file": "call.a.svg"}]}
    text = plotted_page(report(**sections))
    assert "<h2>By length of the chain</h2>" in text
    assert "<td>1,000</td>" in text
    assert "<h2>Flame graphs, from runs of their own</h2>" in text
    assert "<td>call.a.svg</td>" in text
