"""Figures of a benchmark as lines on standard output."""

from typing import Any

import click

from foreseal.bench.measurement import connections


def _rate(cell: dict[str, Any]) -> str:
    """Return rate, processor time and ratio of a row in columns."""
    cpu = "" if cell["cpu_us_per_request"] is None else f"  {cell['cpu_us_per_request']:>9,.1f} us"
    ratio = "" if cell["ratio"] is None else f"  x{cell['ratio']:g}"
    return f"{cell['requests_per_second']:>12,.0f} /s{cpu}{ratio}"


def show_report(report: dict[str, Any]) -> None:
    """Print the figures as lines."""
    click.echo(f"foreseal: us: processor time of the node per request; x: ratio to {report['peer']}", err=True)
    for node in report["nodes"]:
        transport = f", transport {node['transport']}" if node["transport"] else ""
        click.echo(f"{'node':<46} {node['name']:<18} {node['version']}{transport}")
    for row in report["generator"]:
        name = f"generator, {row['transport']}, {connections(row['connections'])}"
        click.echo(f"{name:<46} {row['requests_per_second']:>12,} /s")
    for key in ("reads", "reads_after_restart"):
        for cell in report.get(key, ()):
            name = f"{cell['row']}, {cell['connections']}{', restarted' if key != 'reads' else ''}"
            click.echo(f"{name:<46} {cell['node']:<18} {_rate(cell)}")
    for cell in report.get("open_loop", ()):
        name = f"{cell['row']}, {cell['offered_per_second']:,.0f} /s offered"
        delays = f"p50 {cell['latency']['p50_ms']:g} ms, p99 {cell['latency']['p99_ms']:g} ms"
        late = f", {cell['unanswered']:,} unanswered" if cell["unanswered"] else ""
        click.echo(f"{name:<46} {cell['node']:<18} {delays}{late}")
    for row in report.get("sends", ()):
        cell = {
            "requests_per_second": row["transactions_per_second"],
            "cpu_us_per_request": row["cpu_us_per_transaction"],
        }
        click.echo(f"{row['row']:<46} {row['node']:<18} {_rate(row | cell)}")
    for row in report.get("visibility", ()):
        delays = f"p50 {row['receipt']['p50_ms']:g} ms, p99 {row['receipt']['p99_ms']:g} ms"
        click.echo(f"{'visible, receipt':<46} {row['node']:<18} {delays}")
    for row in report.get("fanout", ()):
        name = f"notification, {row['subscribers']} subscribers"
        cost = row["cpu_us_per_notification"]
        click.echo(f"{name:<46} {row['node']:<18} {'not measurable' if cost is None else f'{cost:g} us'}")
    for missing in report.get("missing", ()):
        click.echo(f"{missing['row']:<46} {missing['node']:<18} unavailable: {missing['why']}")
