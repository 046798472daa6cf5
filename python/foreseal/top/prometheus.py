"""Metrics of a Prometheus text page, and their changes between two pages."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from foreseal.top.fields import plain

_MAX_SERIES = 50_000
_MAX_LINE = 4096
_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})?[ \t]+(\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')
_ESCAPE = re.compile(r"\\(.)")
_MAX_LABEL = 64

SeriesLabels = tuple[tuple[str, str], ...]
"""Names and values of labels, in the order of the page. Values are safe to print."""


class MetricsPage:
    """Values of a page, by metric and labels."""

    def __init__(self, series: Mapping[str, Mapping[SeriesLabels, float]]) -> None:
        """Set up the page."""
        self._series = series

    def series(self, name: str, **labels: str) -> Iterator[tuple[SeriesLabels, float]]:
        """Yield the series of a metric that have these labels."""
        wanted = labels.items()
        for series_labels, value in self._series.get(name, {}).items():
            if all(pair in series_labels for pair in wanted):
                yield series_labels, value

    def total(self, name: str, **labels: str) -> float | None:
        """Return the sum of the series with these labels; None without one."""
        values = [value for _, value in self.series(name, **labels)]
        return sum(values) if values else None

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return the sums of a metric's series by the value of one label, in the order of the page."""
        return _sums(self.series(name), label)


def parse_metrics(text: str) -> MetricsPage:
    """Return the metrics of a page; lines that are not samples are ignored."""
    series: dict[str, dict[SeriesLabels, float]] = {}
    count = 0
    for line in text.splitlines():
        if line.startswith("#") or len(line) > _MAX_LINE:
            continue
        match = _LINE.match(line)
        value = None if match is None else _value(match[3])
        if match is None or value is None:
            continue
        labels = tuple((name, _label(raw)) for name, raw in _LABEL.findall(match[2] or ""))
        series.setdefault(match[1], {})[labels] = value
        count += 1
        if count >= _MAX_SERIES:
            break
    return MetricsPage(series)


def _label(raw: str) -> str:
    return plain(_ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], raw), _MAX_LABEL)


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sums(series: Iterable[tuple[SeriesLabels, float]], label: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for labels, value in series:
        key = next((text for name, text in labels if name == label), "-")
        sums[key] = sums.get(key, 0.0) + value
    return sums


class LatencyBucket(NamedTuple):
    """Durations up to a bound."""

    upper: float
    """Upper bound in seconds."""
    total: float
    """Durations that do not exceed it."""


@dataclass(frozen=True, slots=True)
class LatencyWindow:
    """Durations between two pages."""

    count: float
    seconds: float
    """Sum of the durations."""
    buckets: tuple[LatencyBucket, ...]
    """Cumulative, in ascending order."""

    @property
    def mean(self) -> float | None:
        """Mean in seconds; None without durations."""
        return self.seconds / self.count if self.count > 0 else None

    def quantile(self, share: float) -> float | None:
        """Return the duration that this share does not exceed, interpolated inside its bucket; None without any."""
        rank = share * self.count
        lower, before = 0.0, 0.0
        if self.count <= 0:
            return None
        for upper, total in self.buckets:
            if total >= rank:
                return lower + (upper - lower) * (rank - before) / (total - before) if total > before else upper
            lower, before = upper, total
        return lower if self.buckets else None


class PageChange:
    """Changes of counters from one page to a later one. A counter that fell was reset, and counts from 0."""

    def __init__(self, before: MetricsPage | None, after: MetricsPage, seconds: float) -> None:
        """`seconds` is the time between the pages; without `before` nothing has changed."""
        self._before, self._after, self._seconds = before, after, seconds

    @property
    def is_measured(self) -> bool:
        """True if rates are defined."""
        return self._before is not None and self._seconds > 0

    def rate(self, name: str, **labels: str) -> float | None:
        """Return the increase of the series with these labels per second; None if it is not measured."""
        values = [value for _, value in self._increases(name, **labels)]
        return sum(values) / self._seconds if values and self.is_measured else None

    def rates(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """Return the increases per second by the value of one label; empty if they are not measured."""
        if not self.is_measured:
            return {}
        return {key: value / self._seconds for key, value in _sums(self._increases(name, **labels), label).items()}

    def window(self, name: str, **labels: str) -> LatencyWindow:
        """Return the durations of a histogram with these labels."""
        if not self.is_measured:
            return LatencyWindow(0, 0, ())
        count = sum(value for _, value in self._increases(f"{name}_count", **labels))
        seconds = sum(value for _, value in self._increases(f"{name}_sum", **labels))
        by_bound: dict[float, float] = {}
        for bound, value in _sums(self._increases(f"{name}_bucket", **labels), "le").items():
            if (upper := _value(bound)) is not None:
                by_bound[upper] = value
        return LatencyWindow(count, seconds, tuple(LatencyBucket(*pair) for pair in sorted(by_bound.items())))

    def _increases(self, name: str, **labels: str) -> Iterator[tuple[SeriesLabels, float]]:
        earlier = {} if self._before is None else dict(self._before.series(name, **labels))
        for series_labels, value in self._after.series(name, **labels):
            old = earlier.get(series_labels, 0.0)
            yield series_labels, value - old if value >= old else value
