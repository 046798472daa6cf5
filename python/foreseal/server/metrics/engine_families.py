"""Metrics of the Engine API, through which a driver builds the blocks."""

from collections.abc import Iterable

from foreseal.server.metrics.family import Family, Sample, histogram
from foreseal.server.metrics.read import Readings


def _call_times(readings: Readings) -> Iterable[Sample]:
    bounds = readings.metrics["bounds"]
    for method, calls in (readings.metrics["engine"] or {}).items():
        time = calls["time"]
        yield from histogram({"method": method}, bounds, time["counts"], time["seconds"])


def _call_errors(readings: Readings) -> Iterable[Sample]:
    engine = readings.metrics["engine"] or {}
    return [Sample({"method": method}, calls["errors"]) for method, calls in engine.items()]


ENGINE = (
    Family(
        "foreseal_engine_call_seconds",
        "histogram",
        "Duration of a driver's call of the Engine API, by method.",
        _call_times,
        ("method",),
    ),
    Family(
        "foreseal_engine_errors_total",
        "counter",
        "Calls of the Engine API that failed with an error, by method; an invalid payload is no error.",
        _call_errors,
        ("method",),
    ),
)
"""Metrics of the Engine API, in the order of the text."""
