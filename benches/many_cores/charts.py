"""Plots of reads, submissions and step time over workers."""

from collections.abc import Mapping
from typing import Any

from benches.load.line_chart import Line, Panel, line_charts

_CHEAP, _HEAVY = ("eth_blockNumber", "eth_getBalance", "eth_getBlockByNumber", "eth_call"), "eth_call of 260,000 gas"


def charts(report: Mapping[str, Any]) -> str:
    """Return the plots of a report: of the nodes whose workers had cores of their own, or else of all."""
    native = [each for each in report["results"] if each["transport"] == "native"]
    own = [each for each in native if each["placement"]["is_parallel"]]
    shown, where = (own, "each worker on a core of its own") if len(own) > 1 else (native, "workers share cores")
    counts = [float(each["workers"]) for each in shown]

    def reads(*calls: str) -> list[Line]:
        return [Line(call, [each["reads"][call]["requests_per_second"] for each in shown]) for call in calls]

    panels = [
        Panel(f"Reads a second, {where}", counts, reads(*_CHEAP)),
        Panel("Long calls a second", counts, reads(_HEAVY)),
        Panel(
            "Submissions a second, not pinned",
            counts,
            [Line("32 senders", [float(each["submissions_per_second"]) for each in shown])],
        ),
        Panel(
            f"Processor time of a transaction in us, at {report['rate']:,.0f} a second",
            counts,
            [
                Line("sequencer", [each["sends"]["sequencer_us"] for each in shown]),
                Line("each worker", [each["sends"]["worker_us"] for each in shown]),
            ],
        ),
    ]
    return line_charts(panels, "workers")
