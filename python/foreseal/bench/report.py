"""The report of a benchmark as one page without scripts: tables, and the origin of the figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import orjson

from foreseal.bench.measurement import connections

_STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ddd; --box: #f5f5f5 }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #16181c; --line: #3a3d44; --box: #22252b } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper) }
table { border-collapse: collapse; margin: 1rem 0 } .wide { overflow-x: auto }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
pre { background: var(--box); padding: .7rem; overflow-x: auto } h2 { margin-top: 2.2rem }
"""
Rows = Sequence[dict[str, Any]]
_ORIGIN = ("commit", "dirty", "machine", "versions", "extent", "shape")
_OTHER_TABLES = (
    ("From a submission until others see it, ms", "visibility"),
    ("Notifications", "fanout"),
    ("Unavailable measurements", "missing"),
)


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Measured cells under one heading."""

    title: str
    phase: str
    """Key of the cells in the report."""
    cells: Rows
    figures: Rows
    """The figures of each cell in the order of a table."""


def page(report: Mapping[str, Any]) -> str:
    """Return the whole page; it loads no external resource."""
    tables = [draw_table(section.title, section.figures) for section in report_sections(report)]
    return draw_page(report, tables)


def draw_page(report: Mapping[str, Any], sections: Sequence[str], style: str = "") -> str:
    """Return the page around the drawn sections; `style` is added to that of the tables."""
    machine = report["machine"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>foreseal bench</title>",
        '<meta name=viewport content="width=device-width">',
        f"<style>{_STYLE}{style}</style><h1>foreseal bench</h1>",
        f"<p>{escape(report['date'])}, {escape(machine['processor'])}, {machine['cores']} cores shared by node and "
        f"generator, load {machine['load']} at the end. Ratios (x) are to <b>{escape(str(report['peer']))}</b>: a rate "
        "above x1 and a cost below x1 are better.</p>",
        f"<pre>{escape(report['command'])}</pre>",
        draw_table("Nodes", report["nodes"]),
        draw_table("Capacity of the load generator", report["generator"]),
        *sections,
        *(draw_table(title, report[key]) for title, key in _OTHER_TABLES if report.get(key)),
    ]
    text = orjson.dumps({name: report[name] for name in _ORIGIN}, option=orjson.OPT_INDENT_2).decode()
    return "\n".join([*parts, f"<h2>Origin</h2><pre>{escape(text)}</pre></html>\n"])


def report_sections(report: Mapping[str, Any]) -> list[ReportSection]:
    """Return the sections of the reads by number of connections, of the open loop, and of the sends."""
    peer = report["peer"]
    sections = []
    for title, phase in (("Reads", "reads"), ("Reads after a restart", "reads_after_restart")):
        cells = report.get(phase, [])
        for count in sorted({cell["connections"] for cell in cells}):
            same_count = [cell for cell in cells if cell["connections"] == count]
            costs = cost_ratios(same_count, "cpu_us_per_request", peer)
            figures = [_read_figures(cell, costs) for cell in same_count]
            sections.append(ReportSection(f"{title}, {connections(count)}", phase, same_count, figures))
    if cells := report.get("open_loop"):
        offered = [cell | {"row": f"{cell['row']}, {cell['offered_per_second']:,.0f}/s"} for cell in cells]
        figures = [_read_figures(cell, {}) for cell in offered]
        sections.append(ReportSection("Open loop at one rate for all nodes", "open_loop", offered, figures))
    if cells := report.get("sends"):
        costs = cost_ratios(cells, "cpu_us_per_transaction", peer)
        figures = [_send_figures(cell, costs) for cell in cells]
        sections.append(ReportSection("Sends until included", "sends", cells, figures))
    return sections


def cost_ratios(cells: Rows, name: str, peer: str | None) -> dict[tuple[str, str], float]:
    """Return the ratio of each cost to that of the peer, by row and node; without the peer itself."""
    peers = {cell["row"]: cell[name] for cell in cells if cell["node"] == peer}
    return {
        (cell["row"], cell["node"]): round(cell[name] / peers[cell["row"]], 3)
        for cell in cells
        if cell["node"] != peer and cell[name] is not None and peers.get(cell["row"])
    }


def _read_figures(cell: dict[str, Any], costs: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Return the figures of a cell in the order of a table."""
    names = ("row", "node", "requests_per_second", "ratio", "cpu_us_per_request")
    cost = {"cost_ratio": costs.get((cell["row"], cell["node"]))} if costs else {}
    latency: dict[str, Any] = cell["latency"]
    rest = {name: cell[name] for name in ("unanswered", "answer_bytes")}
    return {name: cell[name] for name in names} | cost | _spread(cell) | latency | rest


def _send_figures(cell: dict[str, Any], costs: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Return the figures of a cell; its cost ratio is next to its cost."""
    figures: dict[str, Any] = {}
    for name, value in cell.items():
        if name != "rates_of_runs":
            figures[name] = value
        if name == "cpu_us_per_transaction" and costs:
            figures["cost_ratio"] = costs.get((cell["row"], cell["node"]))
    return figures | _spread(cell)


def _spread(cell: dict[str, Any]) -> dict[str, Any]:
    rates = cell.get("rates_of_runs", ())
    return {"runs, smallest to largest": [round(min(rates)), round(max(rates))]} if rates else {}


def draw_table(title: str, rows: Rows) -> str:
    """Return a table with a column for each name; empty without rows."""
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    lines = "".join("<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in names) + "</tr>" for row in rows)
    table = f"<div class=wide><table><tr>{head}</tr>{lines}</table></div>"
    return (f"<h2>{escape(title)}</h2>" if title else "") + table


def _cell(value: Any) -> str:
    if value is None:
        return "&ndash;"
    if isinstance(value, dict):
        return escape(", ".join(f"{name.removesuffix('_ms')} {quantile:g}" for name, quantile in value.items()))
    if isinstance(value, list):
        return escape(" to ".join(f"{bound:,}" for bound in dict.fromkeys(value)))
    return escape(f"{value:,}" if isinstance(value, int | float) else str(value))
