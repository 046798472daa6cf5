"""Plots of step time and memory over the number of holders."""

from collections.abc import Mapping
from typing import Any

from benches.load.line_chart import Line, Panel, line_charts


def charts(report: Mapping[str, Any]) -> str:
    """Return the plots of a report."""
    results = report["results"]
    holders = [each["holders"] / 1e6 for each in results]
    steps = [
        Line(f"{limit // 1_000_000:,}M gas", [each["steps"][number]["step_ms"] for each in results])
        for number, limit in enumerate(report["gas_limits"])
    ]
    memory = [Line(name, [each["measured_mb"][name] for each in results]) for name in ("anonymous", "resident")]
    panels = [Panel("Duration of a step, ms", holders, steps), Panel("Memory of the node, MB", holders, memory)]
    return line_charts(panels, "millions of holders")
