"""Metrics of the service as OTLP data."""

import json
from collections.abc import Mapping

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, Counter, Histogram

from foreseal.payments.metrics import MetricGroups, SampledGauge, SampledValue
from foreseal.payments.telemetry.metric_families import metric_families
from foreseal.telemetry.metric_data import metric_data


def metrics(balance: int) -> CollectorRegistry:
    """Return a metric of each kind."""
    registry = CollectorRegistry()
    Counter("pay_events_total", "Events.", ("event",), registry=registry).labels("created").inc(3)
    histogram = Histogram("pay_request_seconds", "Duration.", ("method",), registry=registry, buckets=(0.1, 1.0))
    for seconds in (0.05, 0.5, 0.7, 5.0):
        histogram.labels("GET").observe(seconds)
    registry.register(SampledGauge("pay_balance_wei", "Ether.", lambda: [SampledValue(balance)]))
    Counter("pay_errors_total", "Errors.", ("error",), registry=registry)
    return registry


def labels_text(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={json.dumps(text)}" for name, text in sorted(labels.items()))


@pytest.mark.parametrize("balance", [10**22, 2**63 - 1, 0, True])
def test_every_kind_is_encoded(balance: int) -> None:
    data = metric_data(metric_families(MetricGroups({None: metrics(balance)})), Resource({}), 1.0, 2.0)
    exported = {metric.name: metric for metric in encode_metrics(data).resource_metrics[0].scope_metrics[0].metrics}
    assert list(exported) == ["pay_events", "pay_request_seconds", "pay_balance_wei"]
    (events,) = exported["pay_events"].sum.data_points
    assert (events.as_double, events.start_time_unix_nano, events.time_unix_nano) == (3, 1_000_000_000, 2_000_000_000)
    (durations,) = exported["pay_request_seconds"].histogram.data_points
    assert (list(durations.bucket_counts), list(durations.explicit_bounds)) == ([1, 2, 1], [0.1, 1.0])
    (point,) = exported["pay_balance_wei"].gauge.data_points
    assert (point.as_double or point.as_int) == balance


def test_families_of_merchants_have_the_samples_of_the_text() -> None:
    groups = MetricGroups({"books": metrics(1), "games": metrics(2)})
    lines = groups.text().splitlines()
    shown = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    exported = {
        f"{family.name}{sample.suffix}{{{labels_text(sample.labels)}}}": sample.value
        for family in metric_families(groups)
        for sample in family.samples
    }
    assert exported == shown
    assert len(shown) == 14
