"""Metrics of the service as families for their export."""

from collections.abc import Mapping
from typing import NamedTuple

from foreseal.payments.metrics import MetricGroups, full_name
from foreseal.telemetry.signals import ExportedFamily


class MetricPoint(NamedTuple):
    """A value of a metric with labels; `suffix` is appended to the name, as in the text."""

    labels: Mapping[str, str]
    value: float
    suffix: str


def metric_families(groups: MetricGroups) -> list[ExportedFamily]:
    """Return the metrics of all merchants."""
    exported: list[ExportedFamily] = []
    for family in groups.collect():
        name = full_name(family)
        points: list[MetricPoint] = []
        for sample in family.samples:
            point = MetricPoint(sample.labels, sample.value, sample.name.removeprefix(name))
            # The count is the last sample of an exported histogram; here it precedes the sum.
            points.insert(len(points) - (point.suffix == "_sum"), point)
        exported.append(ExportedFamily(name, family.type, family.documentation, points))
    return exported
