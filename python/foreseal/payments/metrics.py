"""Counters, gauges and histograms in the Prometheus text format. Safe to use from any thread."""

import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import ClassVar, NamedTuple

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of a histogram, in seconds."""

LabelValues = tuple[str, ...]


class GaugeSample(NamedTuple):
    """A value of a gauge, with the values of its labels."""

    value: float
    labels: LabelValues = ()


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
        head = f"# HELP {self.name} {self.help}\n# TYPE {self.name} {self.kind}\n"
        return head + "".join(f"{line}\n" for line in self._lines())

    @abstractmethod
    def _lines(self) -> Iterable[str]: ...

    def _line(self, values: LabelValues, value: float, suffix: str = "", le: str | None = None) -> str:
        pairs = list(zip(self.labels, values, strict=True)) + ([] if le is None else [("le", le)])
        shown = ",".join(f'{name}="{_escaped(text)}"' for name, text in pairs)
        return (
            f"{self.name}{suffix}{f'{{{shown}}}' if shown else ''} {value if isinstance(value, float) else int(value)}"
        )


class Counter(Metric):
    """A number of events since the start of the process, by labels."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self._lock = threading.Lock()
        self._counts: dict[LabelValues, int] = {} if self.labels else {(): 0}

    def add(self, *values: str, count: int = 1) -> None:
        """Count events with these values of the labels."""
        with self._lock:
            self._counts[values] = self._counts.get(values, 0) + count

    def value(self, *values: str) -> int:
        """Return the number of events with these values of the labels."""
        with self._lock:
            return self._counts.get(values, 0)

    def _lines(self) -> Iterable[str]:
        with self._lock:
            counts = sorted(self._counts.items())
        return [self._line(values, count) for values, count in counts]


class Gauge(Metric):
    """Current values, which a function returns."""

    kind = "gauge"

    def __init__(
        self, name: str, help: str, read: Callable[[], Iterable[GaugeSample]], labels: Sequence[str] = ()
    ) -> None:
        super().__init__(name, help, labels)
        self._read = read

    def _lines(self) -> Iterable[str]:
        return [self._line(sample.labels, sample.value) for sample in self._read()]


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

    def _lines(self) -> Iterable[str]:
        with self._lock:
            found = [(values, list(counts), self._sums[values]) for values, counts in sorted(self._counts.items())]
        lines: list[str] = []
        for values, counts, total in found:
            for bound, count in zip((*map(str, self._bounds), "+Inf"), accumulate(counts), strict=True):
                lines.append(self._line(values, count, "_bucket", bound))
            lines.append(self._line(values, total, "_sum"))
            lines.append(self._line(values, sum(counts), "_count"))
        return lines


def render(metrics: Iterable[Metric]) -> str:
    """Return all metrics as text."""
    return "".join(metric.render() for metric in metrics)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
