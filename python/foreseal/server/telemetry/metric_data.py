"""The table of metrics as OTLP data: the samples of one reading, which are those of `/metrics`."""

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

from foreseal.server.metrics import FAMILIES, MetricSources
from foreseal.server.metrics.family import Family, Sample
from foreseal.server.metrics.read import Readings

_CUMULATIVE = AggregationTemporality.CUMULATIVE
_UNITS = {"seconds": "s", "bytes": "By"}
_NANOSECONDS = 1_000_000_000
# The message has no such field: the buckets are measured without minimum and maximum.
_ABSENT = cast(float, None)


def metric_data(sources: MetricSources, resource: Resource, now: float) -> MetricsData:
    """Return all metrics that have samples. `now` is Unix time in seconds."""
    readings = Readings(sources)
    start, end = int(readings.process.started * _NANOSECONDS), int(now * _NANOSECONDS)
    metrics = [
        metric
        for family in FAMILIES
        if (metric := _metric(family, list(family.read(readings)), start, end)) is not None
    ]
    scope = ScopeMetrics(InstrumentationScope("foreseal"), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: Family, samples: list[Sample], start: int, end: int) -> Metric | None:
    if not samples:
        return None
    # The names of Prometheus, so that dashboards work with either source; a collector adds _total to counters again.
    name = family.name.removesuffix("_total")
    unit = next((unit for suffix, unit in _UNITS.items() if name.endswith(f"_{suffix}")), "")
    if family.kind == "histogram":
        return Metric(name, family.help, unit, Histogram(list(_histograms(samples, start, end)), _CUMULATIVE))
    points = [NumberDataPoint(sample.labels, start, end, sample.value) for sample in samples]
    if family.kind == "counter":
        return Metric(name, family.help, unit, Sum(points, _CUMULATIVE, is_monotonic=True))
    return Metric(name, family.help, unit, Gauge(points))


def _histograms(samples: Iterable[Sample], start: int, end: int) -> Iterator[HistogramDataPoint]:
    """Yield a point for each histogram: its samples are buckets, sum and count, in this order."""
    bounds: list[float] = []
    cumulative: list[float] = []
    total = 0.0
    for labels, value, suffix in samples:
        if suffix == "_bucket":
            cumulative.append(value)
            if labels["le"] != "+Inf":
                bounds.append(float(labels["le"]))
        elif suffix == "_sum":
            total = value
        else:
            counts = [int(here - before) for before, here in zip([0.0, *cumulative], cumulative, strict=False)]
            yield HistogramDataPoint(labels, start, end, int(value), total, counts, bounds, min=_ABSENT, max=_ABSENT)
            bounds, cumulative, total = [], [], 0.0
