"""Counters, gauges and histograms in the Prometheus text format. Safe to use from any thread."""

import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import ClassVar, NamedTuple

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of a histogram, in seconds."""

LabelValues = tuple[str, ...]
LabelPairs = tuple[tuple[str, str], ...]


class GaugeSample(NamedTuple):
    """A value of a gauge, with the values of its labels."""

    value: float
    labels: LabelValues = ()


class MetricPoint(NamedTuple):
    """A value of a metric with labels; `suffix` is appended to the name, as in the text."""

    labels: dict[str, str]
    value: float
    suffix: str = ""


class Metric(ABC):
    """A metric: its name, its HELP text and the names of its labels."""

    kind: ClassVar[str]

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        """Set up the metric. `help` is a noun phrase."""
        self.name = name
        self.help = help
        self.labels = tuple(labels)

    def render(self) -> str:
        """Return the metric with all samples as text."""
        return self.header() + self.samples()

    def header(self) -> str:
        """Return the HELP and TYPE lines."""
        return f"# HELP {self.name} {self.help}\n# TYPE {self.name} {self.kind}\n"

    def samples(self, common: LabelPairs = ()) -> str:
        """Return the lines of all samples, which begin with the `common` labels."""
        return "".join(f"{self._line(common, sample)}\n" for sample in self._samples())

    def points(self, common: LabelPairs = ()) -> list[MetricPoint]:
        """Return all samples, whose labels begin with the `common` ones."""
        return [MetricPoint(dict(self._pairs(common, each)), each.value, each.suffix) for each in self._samples()]

    @abstractmethod
    def _samples(self) -> Iterable["_SampleLine"]: ...

    def _pairs(self, common: LabelPairs, sample: "_SampleLine") -> list[tuple[str, str]]:
        pairs = [*common, *zip(self.labels, sample.labels, strict=True)]
        if sample.le is not None:
            pairs.append(("le", sample.le))
        return pairs

    def _line(self, common: LabelPairs, sample: "_SampleLine") -> str:
        pairs = self._pairs(common, sample)
        shown = ",".join(f'{name}="{_escaped(text)}"' for name, text in pairs)
        value = sample.value if isinstance(sample.value, float) else int(sample.value)
        return f"{self.name}{sample.suffix}{f'{{{shown}}}' if shown else ''} {value}"


class _SampleLine(NamedTuple):
    """A line of a metric."""

    labels: LabelValues
    value: float
    suffix: str = ""
    le: str | None = None
    """Upper bound of a bucket."""


class Counter(Metric):
    """A number of events since the start of the process, by labels."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self._lock = threading.Lock()
        self._counts: dict[LabelValues, int] = {} if self.labels else {(): 0}

    def initialize(self, *values: str) -> None:
        """Create the series of these values of the labels at 0: `rate` counts no event that creates its series."""
        self.add(*values, count=0)

    def add(self, *values: str, count: int = 1) -> None:
        """Count events with these values of the labels."""
        with self._lock:
            self._counts[values] = self._counts.get(values, 0) + count

    def value(self, *values: str) -> int:
        """Return the number of events with these values of the labels."""
        with self._lock:
            return self._counts.get(values, 0)

    def _samples(self) -> Iterable[_SampleLine]:
        with self._lock:
            counts = sorted(self._counts.items())
        return [_SampleLine(values, count) for values, count in counts]


class Gauge(Metric):
    """Current values, which a function returns."""

    kind = "gauge"

    def __init__(
        self, name: str, help: str, read: Callable[[], Iterable[GaugeSample]], labels: Sequence[str] = ()
    ) -> None:
        super().__init__(name, help, labels)
        self._read = read

    def _samples(self) -> Iterable[_SampleLine]:
        return [_SampleLine(sample.labels, sample.value) for sample in self._read()]


class SampledCounter(Gauge):
    """Numbers of events since the start of the process, which a function returns."""

    kind = "counter"


class Histogram(Metric):
    """A distribution of durations in seconds, by labels."""

    kind = "histogram"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS) -> None:
        super().__init__(name, help, labels)
        self._bounds = tuple(bounds)
        self._lock = threading.Lock()
        self._sums: dict[LabelValues, float] = {}
        self._counts: dict[LabelValues, list[int]] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Add a duration with these values of the labels."""
        with self._lock:
            counts = self._counts.setdefault(values, [0] * (len(self._bounds) + 1))
            counts[bisect_left(self._bounds, seconds)] += 1
            self._sums[values] = self._sums.get(values, 0.0) + seconds

    def count(self, *values: str) -> int:
        """Return the number of durations with these values of the labels."""
        with self._lock:
            return sum(self._counts.get(values, ()))

    def _samples(self) -> Iterable[_SampleLine]:
        with self._lock:
            found = [(values, list(counts), self._sums[values]) for values, counts in sorted(self._counts.items())]
        lines: list[_SampleLine] = []
        for values, counts, total in found:
            for bound, count in zip((*map(str, self._bounds), "+Inf"), accumulate(counts), strict=True):
                lines.append(_SampleLine(values, count, "_bucket", bound))
            lines.append(_SampleLine(values, total, "_sum"))
            lines.append(_SampleLine(values, sum(counts), "_count"))
        return lines


def render(metrics: Iterable[Metric]) -> str:
    """Return all metrics as text."""
    return "".join(metric.render() for metric in metrics)


def render_groups(label: str, groups: Mapping[str, Iterable[Metric]]) -> str:
    """Return the metrics of several groups as one text, in which `label` has the name of the group."""
    families: dict[str, list[tuple[str, Metric]]] = {}
    for group, metrics in groups.items():
        for metric in metrics:
            families.setdefault(metric.name, []).append((group, metric))
    return "".join(
        members[0][1].header() + "".join(metric.samples(((label, group),)) for group, metric in members)
        for members in families.values()
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
