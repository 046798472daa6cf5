"""The report of a benchmark as a self-contained page: tables, plots, and the origin of the figures."""

from collections.abc import Sequence
from html import escape
from typing import Any

import orjson

from foreseal.bench.plots import Group, bars

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left } pre { background: #f5f5f5; padding: .7rem; overflow-x: auto }
h2 { margin-top: 2.2rem }
"""
_Rows = Sequence[dict[str, Any]]


def page(report: dict[str, Any]) -> str:
    """Return the whole page; it loads no external resource."""
    nodes = [node["name"] for node in report["nodes"]]
    machine = report["machine"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>foreseal bench</title>",
        f"<style>{_STYLE}</style><h1>foreseal bench</h1>",
        f"<p>{escape(report['date'])}, {escape(machine['processor'])}, {machine['cores']} cores shared by node and "
        f"generator, load {machine['load']} at the end. Ratios are to <b>{escape(str(report['peer']))}</b>.</p>",
        f"<pre>{escape(report['command'])}</pre>",
        _table("Nodes", report["nodes"]),
        _table("Capacity of the load generator", report["generator"]),
    ]
    for title, key in (("Reads", "reads"), ("Reads after a restart", "reads_after_restart")):
        parts += _reads(title, report.get(key, []), nodes)
    parts += _open(report.get("open_loop", []), nodes)
    for title, key in (
        ("Sends until included", "sends"),
        ("From a submission until others see it, ms", "visibility"),
        ("Notifications", "fanout"),
        ("By length of the chain", "scale"),
        ("Unavailable measurements", "missing"),
    ):
        if report.get(key):
            parts.append(_table(title, report[key]))
    origin = {name: report[name] for name in ("commit", "dirty", "machine", "versions", "extent", "shape")}
    text = orjson.dumps(origin, option=orjson.OPT_INDENT_2).decode()
    return "\n".join([*parts, f"<h2>Origin</h2><pre>{escape(text)}</pre></html>\n"])


def _reads(title: str, cells: _Rows, nodes: Sequence[str]) -> list[str]:
    parts = []
    for count in sorted({cell["connections"] for cell in cells}):
        found = [cell for cell in cells if cell["connections"] == count]
        groups: list[Group] = []
        for row in dict.fromkeys(cell["row"] for cell in found):
            drawn = [
                (cell["node"], cell["requests_per_second"], _written(cell)) for cell in found if cell["row"] == row
            ]
            groups.append((row, sorted(drawn, key=lambda bar: nodes.index(bar[0]))))
        parts.append(f"<h2>{title}, {count} connections: results a second</h2>")
        parts.append(bars(groups, nodes))
        parts.append(_table("", [_flat(cell) for cell in found]))
    return parts


def _open(cells: _Rows, nodes: Sequence[str]) -> list[str]:
    if not cells:
        return []
    groups: list[Group] = []
    for row in dict.fromkeys(cell["row"] for cell in cells):
        found = [cell for cell in cells if cell["row"] == row]
        drawn = [(cell["node"], cell["latency"]["p99_ms"], f"{cell['latency']['p99_ms']:g} ms") for cell in found]
        groups.append(
            (f"{row}, {found[0]['offered_per_second']:,.0f}/s", sorted(drawn, key=lambda b: nodes.index(b[0])))
        )
    title = "<h2>Open loop at one rate for all: p99 from the moment a request was due</h2>"
    return [title, bars(groups, nodes), _table("", [_flat(cell) for cell in cells])]


def _written(cell: dict[str, Any]) -> str:
    ratio = "" if cell["ratio"] is None else f" (x{cell['ratio']:g})"
    return f"{cell['requests_per_second']:,.0f}{ratio}"


def _flat(cell: dict[str, Any]) -> dict[str, Any]:
    """Merge the latencies of a cell into its other figures."""
    latency: dict[str, Any] = cell["latency"]
    return {name: value for name, value in cell.items() if name not in ("latency", "loop", "connections")} | latency


def _table(title: str, rows: _Rows) -> str:
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    lines = "".join("<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in names) + "</tr>" for row in rows)
    return (f"<h2>{escape(title)}</h2>" if title else "") + f"<table><tr>{head}</tr>{lines}</table>"


def _cell(value: Any) -> str:
    if value is None:
        return "&ndash;"
    if isinstance(value, dict):
        return escape(", ".join(f"{name.removesuffix('_ms')} {quantile:g}" for name, quantile in value.items()))
    if isinstance(value, list):
        return escape(" to ".join(f"{bound:,}" for bound in dict.fromkeys(value)))
    return escape(f"{value:,}" if isinstance(value, int | float) else str(value))
