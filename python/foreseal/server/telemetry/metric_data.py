"""The table of metrics as OTLP data: the samples of one reading, which are those of `/metrics`."""

from opentelemetry.sdk.metrics.export import MetricsData
from opentelemetry.sdk.resources import Resource

from foreseal.server.metrics import FAMILIES, MetricSources
from foreseal.server.metrics.read import Readings
from foreseal.telemetry.metric_data import metric_data
from foreseal.telemetry.signals import ExportedFamily


def node_metric_data(sources: MetricSources, resource: Resource, now: float) -> MetricsData:
    """Return all metrics that have samples. `now` is Unix time in seconds."""
    readings = Readings(sources)
    families = (
        ExportedFamily(family.name, family.kind, family.help, list(family.read(readings))) for family in FAMILIES
    )
    return metric_data(families, resource, readings.process.started, now)
