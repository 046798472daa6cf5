"""Plot of the reads that the model predicts, with the measured ones if each worker had a core of its own."""

from collections.abc import Mapping
from typing import Any

from benches.load.line_chart import Line, Panel, line_charts

_CALLS = ("eth_blockNumber", "eth_getBalance", "eth_call", "eth_call of 260,000 gas")


def charts(report: Mapping[str, Any]) -> str:
    """Return the plot of a report."""
    predicted = report["model"]["predicted"]
    counts = [float(each["workers"]) for each in predicted]
    panels = [
        Panel(
            "Reads a second that the model predicts",
            counts,
            [Line(call, [float(each[call]) for each in predicted]) for call in _CALLS],
        )
    ]
    own = [each for each in report["results"] if each["transport"] == "native" and each["placement"]["is_parallel"]]
    if len(own) > 1:
        lines = [Line(call, [each["reads"][call]["requests_per_second"] for each in own]) for call in _CALLS]
        measured = Panel("Measured, each worker on a core of its own", [float(each["workers"]) for each in own], lines)
        panels.append(measured)
    return line_charts(panels, "workers")
