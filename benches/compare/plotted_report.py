"""The report of `foreseal bench` with plots: rates, costs and latencies of the nodes next to each other.

`python -m benches.compare.plotted_report FILE.json FILE.html` draws saved results.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from benches.compare.plots import Bar, BarGroup, Distribution, DistributionGroup, draw_bars, draw_distributions

from foreseal.bench.report import ReportSection, Rows, cost_ratios, draw_page, draw_table, report_sections

_STYLE = """
:root { --mark: #000;
  --s0: #3d8bd9; --s1: #e0943f; --s2: #4fae86; --s3: #b765b4; --s4: #8a8a8a; --s5: #c9a227 }
@media (prefers-color-scheme: dark) { :root { --mark: #fff;
  --s0: #2f6fb3; --s1: #b06a1f; --s2: #2f7f5d; --s3: #8a4488; --s4: #6d6d6d; --s5: #8f7214 } }
summary { cursor: pointer; margin: .6rem 0 }
svg { width: 100%; font: 11px sans-serif } svg text { fill: var(--ink) }
.s0 { fill: var(--s0) } .s1 { fill: var(--s1) } .s2 { fill: var(--s2) } .s3 { fill: var(--s3) }
.s4 { fill: var(--s4) } .s5 { fill: var(--s5) }
.run { stroke: var(--mark); fill: none } .quantile { stroke: var(--mark) } .axis { stroke: var(--line) }
"""
_OTHER_TABLES = (
    ("By length of the chain", "scale"),
    ("Flame graphs, from runs of their own", "profiles"),
)


def plotted_page(report: Mapping[str, Any]) -> str:
    """Return the whole page; it loads no external resource."""
    nodes = [node["name"] for node in report["nodes"]]
    sections = []
    for section in report_sections(report):
        sections += [f"<h2>{section.title}</h2>", *_plots(section, nodes, report["peer"])]
        sections.append(f"<details><summary>Figures</summary>{draw_table('', section.figures)}</details>")
    sections += [draw_table(title, report[key]) for title, key in _OTHER_TABLES if report.get(key)]
    return draw_page(report, sections, _STYLE)


def _plots(section: ReportSection, nodes: Sequence[str], peer: str | None) -> list[str]:
    if section.phase == "open_loop":
        return _open_loop(section.cells, nodes)
    if section.phase == "sends":
        return _sends(section.cells, nodes, peer)
    return _reads(section.cells, nodes, peer)


def _reads(cells: Rows, nodes: Sequence[str], peer: str | None) -> list[str]:
    costs = cost_ratios(cells, "cpu_us_per_request", peer)

    def rate(cell: dict[str, Any]) -> Bar:
        return _rate(cell, "requests_per_second")

    def cost(cell: dict[str, Any]) -> Bar:
        return _cost(cell, "cpu_us_per_request", costs)

    return [
        _bars("Results a second, median; marks are the repetitions", cells, nodes, rate),
        _bars("Cost: microseconds of the node's processor time per request", cells, nodes, cost),
        _distributions(cells, nodes),
    ]


def _open_loop(cells: Rows, nodes: Sequence[str]) -> list[str]:
    def p99(cell: dict[str, Any]) -> Bar:
        return Bar(cell["node"], cell["latency"]["p99_ms"], f"{cell['latency']['p99_ms']:g} ms")

    return [
        _bars("p99 from the moment a request was due", cells, nodes, p99),
        _distributions(cells, nodes),
    ]


def _sends(cells: Rows, nodes: Sequence[str], peer: str | None) -> list[str]:
    costs = cost_ratios(cells, "cpu_us_per_transaction", peer)
    drawn = [cell for cell in cells if cell["node"] in nodes]
    return [
        _bars(
            "Transactions a second, median; marks are the repetitions",
            drawn,
            nodes,
            lambda cell: _rate(cell, "transactions_per_second"),
        ),
        _bars(
            "Cost: microseconds of the node's processor time per transaction",
            drawn,
            nodes,
            lambda cell: _cost(cell, "cpu_us_per_transaction", costs),
        ),
    ]


def _rate(cell: dict[str, Any], name: str) -> Bar:
    ratio = "" if cell["ratio"] is None else f" (x{cell['ratio']:g})"
    return Bar(cell["node"], cell[name], f"{cell[name]:,.0f}{ratio}", cell.get("rates_of_runs", ()))


def _cost(cell: dict[str, Any], name: str, ratios: Mapping[tuple[str, str], float]) -> Bar:
    value = cell[name]
    if value is None:
        return Bar(cell["node"], 0.0, "unavailable")
    ratio = ratios.get((cell["row"], cell["node"]))
    return Bar(cell["node"], value, f"{value:,.1f}" + ("" if ratio is None else f" (x{ratio:g})"))


def _bars(title: str, cells: Rows, nodes: Sequence[str], bar: Callable[[dict[str, Any]], Bar]) -> str:
    groups = [BarGroup(row, [bar(cell) for cell in row_cells]) for row, row_cells in _by_row(cells, nodes).items()]
    return f"<h3>{title}</h3>" + draw_bars(title, groups, nodes)


def _distributions(cells: Rows, nodes: Sequence[str]) -> str:
    title = "Latency: histogram over all repetitions, and p50, p90, p99 and p99.9"
    groups = [
        DistributionGroup(
            row,
            [Distribution(cell["node"], cell.get("latency_buckets_ms", {}), cell["latency"]) for cell in row_cells],
        )
        for row, row_cells in _by_row(cells, nodes).items()
    ]
    drawn = draw_distributions(title, groups, nodes)
    return f"<h3>{title}</h3>{drawn}" if drawn else ""


def _by_row(cells: Rows, nodes: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the cells of each row, in the order of the nodes."""
    by_row: dict[str, list[dict[str, Any]]] = {}
    for cell in sorted(cells, key=lambda cell: nodes.index(cell["node"])):
        by_row.setdefault(cell["row"], []).append(cell)
    return {row: by_row[row] for row in dict.fromkeys(cell["row"] for cell in cells)}


if __name__ == "__main__":
    saved, drawn = map(Path, sys.argv[1:])
    drawn.write_text(plotted_page(orjson.loads(saved.read_bytes())))
