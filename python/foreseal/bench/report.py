"""The report of a benchmark as one page without scripts: tables, plots, and the origin of the figures."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import orjson

from foreseal.bench.measurement import connections
from foreseal.bench.plots import (
    Bar,
    BarGroup,
    Distribution,
    DistributionGroup,
    draw_bars,
    draw_distributions,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ddd; --box: #f5f5f5; --mark: #000;
  --s0: #3d8bd9; --s1: #e0943f; --s2: #4fae86; --s3: #b765b4; --s4: #8a8a8a; --s5: #c9a227 }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #16181c; --line: #3a3d44; --box: #22252b;
  --mark: #fff; --s0: #2f6fb3; --s1: #b06a1f; --s2: #2f7f5d; --s3: #8a4488; --s4: #6d6d6d; --s5: #8f7214 } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper) }
table { border-collapse: collapse; margin: 1rem 0 } .wide { overflow-x: auto }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
pre { background: var(--box); padding: .7rem; overflow-x: auto } summary { cursor: pointer; margin: .6rem 0 }
h2 { margin-top: 2.2rem } svg { width: 100%; font: 11px sans-serif } svg text { fill: var(--ink) }
.s0 { fill: var(--s0) } .s1 { fill: var(--s1) } .s2 { fill: var(--s2) } .s3 { fill: var(--s3) }
.s4 { fill: var(--s4) } .s5 { fill: var(--s5) }
.run { stroke: var(--mark); fill: none } .quantile { stroke: var(--mark) } .axis { stroke: var(--line) }
"""
_Rows = Sequence[dict[str, Any]]
_ORIGIN = ("commit", "dirty", "machine", "versions", "extent", "shape")
_OTHER_TABLES = (
    ("From a submission until others see it, ms", "visibility"),
    ("Notifications", "fanout"),
    ("By length of the chain", "scale"),
    ("Flame graphs, from runs of their own", "profiles"),
    ("Unavailable measurements", "missing"),
)


def page(report: Mapping[str, Any]) -> str:
    """Return the whole page; it loads no external resource."""
    nodes = [node["name"] for node in report["nodes"]]
    machine = report["machine"]
    sections = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>foreseal bench</title>",
        '<meta name=viewport content="width=device-width">',
        f"<style>{_STYLE}</style><h1>foreseal bench</h1>",
        f"<p>{escape(report['date'])}, {escape(machine['processor'])}, {machine['cores']} cores shared by node and "
        f"generator, load {machine['load']} at the end. Ratios (x) are to <b>{escape(str(report['peer']))}</b>: a rate "
        "above x1 and a cost below x1 are better.</p>",
        f"<pre>{escape(report['command'])}</pre>",
        _table("Nodes", report["nodes"]),
        _table("Capacity of the load generator", report["generator"]),
    ]
    for title, key in (("Reads", "reads"), ("Reads after a restart", "reads_after_restart")):
        cells = report.get(key, [])
        for count in sorted({cell["connections"] for cell in cells}):
            same_count = [cell for cell in cells if cell["connections"] == count]
            sections += _reads(f"{title}, {connections(count)}", same_count, nodes, report["peer"])
    sections += _open_loop(report.get("open_loop", []), nodes)
    sections += _sends(report.get("sends", []), nodes, report["peer"])
    sections += [_table(title, report[key]) for title, key in _OTHER_TABLES if report.get(key)]
    text = orjson.dumps({name: report[name] for name in _ORIGIN}, option=orjson.OPT_INDENT_2).decode()
    return "\n".join([*sections, f"<h2>Origin</h2><pre>{escape(text)}</pre></html>\n"])


def _reads(title: str, cells: _Rows, nodes: Sequence[str], peer: str | None) -> list[str]:
    costs = _cost_ratios(cells, "cpu_us_per_request", peer)

    def rate(cell: dict[str, Any]) -> Bar:
        return _rate(cell, "requests_per_second")

    def cost(cell: dict[str, Any]) -> Bar:
        return _cost(cell, "cpu_us_per_request", costs)

    return [
        f"<h2>{title}</h2>",
        _bars("Results a second, median; marks are the repetitions", cells, nodes, rate),
        _bars("Cost: microseconds of the node's processor time per request", cells, nodes, cost),
        _distributions(cells, nodes),
        _details("Figures", [_read_figures(cell, costs) for cell in cells]),
    ]


def _open_loop(cells: _Rows, nodes: Sequence[str]) -> list[str]:
    if not cells:
        return []

    def p99(cell: dict[str, Any]) -> Bar:
        return Bar(cell["node"], cell["latency"]["p99_ms"], f"{cell['latency']['p99_ms']:g} ms")

    offered = [cell | {"row": f"{cell['row']}, {cell['offered_per_second']:,.0f}/s"} for cell in cells]
    return [
        "<h2>Open loop at one rate for all nodes</h2>",
        _bars("p99 from the moment a request was due", offered, nodes, p99),
        _distributions(offered, nodes),
        _details("Figures", [_read_figures(cell, {}) for cell in cells]),
    ]


def _sends(cells: _Rows, nodes: Sequence[str], peer: str | None) -> list[str]:
    if not cells:
        return []
    costs = _cost_ratios(cells, "cpu_us_per_transaction", peer)
    drawn = [cell for cell in cells if cell["node"] in nodes]
    return [
        "<h2>Sends until included</h2>",
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
        _details("Figures", [_without(cell, "rates_of_runs") | _spread(cell) for cell in cells]),
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


def _cost_ratios(cells: _Rows, name: str, peer: str | None) -> dict[tuple[str, str], float]:
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


def _spread(cell: dict[str, Any]) -> dict[str, Any]:
    rates = cell.get("rates_of_runs", ())
    return {"runs, smallest to largest": [round(min(rates)), round(max(rates))]} if rates else {}


def _bars(title: str, cells: _Rows, nodes: Sequence[str], bar: Callable[[dict[str, Any]], Bar]) -> str:
    groups = [BarGroup(row, [bar(cell) for cell in row_cells]) for row, row_cells in _by_row(cells, nodes).items()]
    return f"<h3>{title}</h3>" + draw_bars(title, groups, nodes)


def _distributions(cells: _Rows, nodes: Sequence[str]) -> str:
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


def _by_row(cells: _Rows, nodes: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the cells of each row, in the order of the nodes."""
    cells_by_row: dict[str, list[dict[str, Any]]] = {}
    for cell in sorted(cells, key=lambda cell: nodes.index(cell["node"])):
        cells_by_row.setdefault(cell["row"], []).append(cell)
    return {row: cells_by_row[row] for row in dict.fromkeys(cell["row"] for cell in cells)}


def _without(cell: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if key != name}


def _details(title: str, rows: _Rows) -> str:
    return f"<details><summary>{title}</summary>{_table('', rows)}</details>"


def _table(title: str, rows: _Rows) -> str:
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
