"""Histograms in the Prometheus text format: the part between two readings, and its quantiles."""

import math
import re
from dataclasses import dataclass
from itertools import pairwise

_BUCKET = 'le="([^"]+)"'


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative counts by upper bound in seconds; the last bound is infinite."""

    buckets: tuple[tuple[float, int], ...]
    total: float

    @property
    def count(self) -> int:
        """Number of observations."""
        return self.buckets[-1][1]

    def since(self, before: "Histogram") -> "Histogram":
        """Return the observations after an earlier reading."""
        bounds = tuple(
            (bound, count - earlier) for (bound, count), (_, earlier) in zip(self.buckets, before.buckets, strict=True)
        )
        return Histogram(bounds, self.total - before.total)

    def quantile_ms(self, share: float) -> float | None:
        """Return an estimate in ms, interpolated within its bucket; None without observations.

        An observation above the last finite bound counts as that bound.
        """
        if not self.count:
            return None
        wanted = share * self.count
        for (lower, below), (upper, count) in pairwise(((0.0, 0), *self.buckets)):
            if count >= wanted and count > below:
                if math.isinf(upper):
                    return round(lower * 1000, 2)
                return round((lower + (upper - lower) * max(0.0, wanted - below) / (count - below)) * 1000, 2)
        return None

    def figures(self) -> dict[str, float | int | None]:
        """Return count, mean and quantiles."""
        mean = round(self.total / self.count * 1000, 3) if self.count else None
        return {
            "count": self.count,
            "mean_ms": mean,
            "p50_ms": self.quantile_ms(0.5),
            "p99_ms": self.quantile_ms(0.99),
        }


def read_histogram(text: str, name: str) -> Histogram | None:
    """Return the histogram with this name and without labels in a metrics page; None if the page has none."""
    matches = re.findall(rf"^{name}_bucket\{{{_BUCKET}\}} (\S+)$", text, re.MULTILINE)
    total = re.search(rf"^{name}_sum (\S+)$", text, re.MULTILINE)
    if not matches or total is None:
        return None
    buckets = tuple((math.inf if bound == "+Inf" else float(bound), int(float(count))) for bound, count in matches)
    return Histogram(buckets, float(total[1]))
