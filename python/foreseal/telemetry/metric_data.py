"""Families of Prometheus as OTLP data."""

from collections.abc import Iterable, Iterator
from typing import cast

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from foreseal.telemetry.signals import ExportedFamily, MetricSample

_CUMULATIVE = AggregationTemporality.CUMULATIVE
_UNITS = {"seconds": "s", "bytes": "By"}
_INTEGERS = range(-(1 << 63), 1 << 63)
_NANOSECONDS = 1_000_000_000
# The message has no such field: the buckets are measured without minimum and maximum.
_ABSENT = cast(float, None)


def metric_data(families: Iterable[ExportedFamily], resource: Resource, started: float, now: float) -> MetricsData:
    """Return all families that have samples. `started` and `now` are Unix times in seconds."""
    start, end = int(started * _NANOSECONDS), int(now * _NANOSECONDS)
    metrics = [_metric(family, start, end) for family in families if family.samples]
    scope = ScopeMetrics(InstrumentationScope("foreseal"), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: ExportedFamily, start: int, end: int) -> Metric:
    # The names of Prometheus, so that dashboards work with either source; a collector adds _total to counters again.
    name = family.name.removesuffix("_total")
    unit = next((unit for suffix, unit in _UNITS.items() if name.endswith(f"_{suffix}")), "")
    if family.kind == "histogram":
        points = list(_histograms(family.samples, start, end))
        return Metric(name, family.help, unit, Histogram(points, _CUMULATIVE))
    numbers = [NumberDataPoint(dict(sample.labels), start, end, _number(sample.value)) for sample in family.samples]
    if family.kind == "counter":
        return Metric(name, family.help, unit, Sum(numbers, _CUMULATIVE, is_monotonic=True))
    return Metric(name, family.help, unit, Gauge(numbers))


def _number(value: float) -> float:
    """Return a value that the message can hold. It has no booleans, and amounts in wei exceed its integers."""
    if isinstance(value, int):
        return int(value) if value in _INTEGERS else float(value)
    return value


def _histograms(samples: Iterable[MetricSample], start: int, end: int) -> Iterator[HistogramDataPoint]:
    """Yield a point for each histogram."""
    bounds: list[float] = []
    cumulative: list[float] = []
    total = 0.0
    for sample in samples:
        if sample.suffix == "_bucket":
            cumulative.append(sample.value)
            if sample.labels["le"] != "+Inf":
                bounds.append(float(sample.labels["le"]))
        elif sample.suffix == "_sum":
            total = sample.value
        else:
            counts = [int(here - before) for before, here in zip([0.0, *cumulative], cumulative, strict=False)]
            count = int(sample.value)
            labels = dict(sample.labels)
            yield HistogramDataPoint(labels, start, end, count, total, counts, bounds, min=_ABSENT, max=_ABSENT)
            bounds, cumulative, total = [], [], 0.0
