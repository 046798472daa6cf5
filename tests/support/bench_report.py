"""A report of a benchmark with made-up figures."""

from typing import Any


def cell(node: str, rate: float, cpu: float | None, ratio: float | None) -> dict[str, Any]:
    """Return a measured row in the form of a report."""
    latency = {"p50_ms": 1.0, "p90_ms": 2.0, "p99_ms": 3.0, "p999_ms": 4.0, "max_ms": 5.0}
    spread = {"rates_of_runs": [rate - 1, rate, rate + 1], "latency_buckets_ms": {"1": 2, "5.012": 1}}
    figures = {"requests_per_second": rate, "cpu_us_per_request": cpu, "ratio": ratio, "unanswered": 0}
    return (
        {"row": "call", "node": node, "connections": 16, "latency": latency, "answer_bytes": [7, 7]} | spread | figures
    )


def report(**results: Any) -> dict[str, Any]:
    """Return a report with these results."""
    origin = dict.fromkeys(("commit", "dirty", "versions", "extent", "shape"), "x")
    machine = {"processor": "<cpu>", "cores": 2, "load": 0.5}
    named = {"date": "now", "peer": "b", "command": "c", "nodes": [{"name": "a"}, {"name": "b"}], "generator": []}
    return {**origin, "machine": machine, **named, **results}
