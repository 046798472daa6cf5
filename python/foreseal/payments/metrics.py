"""Metrics of Prometheus whose values other components have, and the families of several merchants."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from prometheus_client import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of a histogram, in seconds."""


class SampledValue(NamedTuple):
    """A value of a metric, with the values of its labels."""

    value: float
    labels: tuple[str, ...] = ()


class SampledMetric(Collector):
    """Metric whose values a function returns when the metrics are rendered."""

    _family: ClassVar[type[GaugeMetricFamily] | type[CounterMetricFamily]]

    def __init__(
        self, name: str, help: str, read: Callable[[], Iterable[SampledValue]], labels: Sequence[str] = ()
    ) -> None:
        """Set up the metric. `help` is a noun phrase."""
        self._name = name
        self._help = help
        self._read = read
        self.labels = tuple(labels)

    def describe(self) -> Iterable[Metric]:
        """Return the metric without values."""
        return [self._family(self._name, self._help, labels=self.labels)]

    def collect(self) -> Iterable[Metric]:
        """Return the metric with its current values."""
        family = self._family(self._name, self._help, labels=self.labels)
        for sample in self._read():
            family.add_metric(sample.labels, sample.value)
        return [family]


class SampledGauge(SampledMetric):
    """Current values."""

    _family = GaugeMetricFamily


class SampledCounter(SampledMetric):
    """Numbers of events since the start of the process."""

    _family = CounterMetricFamily


class MetricGroups(Collector):
    """Metrics of several merchants as one set of families, in which the label `merchant` has the name of each."""

    def __init__(self, groups: Mapping[str | None, Collector]) -> None:
        """Set up the groups by merchant. The label is absent from a group without a name."""
        self._groups = groups

    def collect(self) -> Iterable[Metric]:
        """Return all families with their current values, without the times at which series were created."""
        families: dict[str, Metric] = {}
        for merchant, group in self._groups.items():
            common = {} if merchant is None else {"merchant": merchant}
            for metric in group.collect():
                family = families.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                for sample in metric.samples:
                    if sample.name != f"{metric.name}_created":
                        family.add_sample(sample.name, {**common, **sample.labels}, sample.value)
        return families.values()

    def text(self) -> str:
        """Return all families in the text format of Prometheus."""
        return generate_latest(self).decode()


def full_name(family: Metric) -> str:
    """Return the name of a family in the text. The package stores the name of a counter without its suffix."""
    return f"{family.name}_total" if family.type == "counter" else family.name
