"""Metrics of the service as families for their export."""

from collections.abc import Iterable, Mapping

from foreseal.payments.metrics import LabelPairs, Metric, MetricPoint
from foreseal.telemetry.signals import ExportedFamily


def metric_families(groups: Mapping[str | None, Iterable[Metric]]) -> list[ExportedFamily]:
    """Return the metrics of merchants by name, in the label `merchant`; None: without the label."""
    points: dict[str, list[MetricPoint]] = {}
    metrics: dict[str, Metric] = {}
    for merchant, found in groups.items():
        common: LabelPairs = () if merchant is None else (("merchant", merchant),)
        for metric in found:
            metrics.setdefault(metric.name, metric)
            points.setdefault(metric.name, []).extend(metric.points(common))
    return [ExportedFamily(name, metric.kind, metric.help, points[name]) for name, metric in metrics.items()]
