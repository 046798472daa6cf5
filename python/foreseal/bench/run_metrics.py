"""Results of one run of the load generator."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_BUCKETS_PER_DECADE = 10

QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}


class Latencies:
    """Latencies of many requests in nanoseconds, in the buckets of the generator's HDR histogram."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self._counts = Counter(dict(counts))

    def add(self, other: "Latencies") -> None:
        """Add the counts of another histogram."""
        self._counts.update(other._counts)

    def __len__(self) -> int:
        return self._counts.total()

    def latency_at(self, quantile: float) -> float:
        """Return the latency in milliseconds that this share of requests does not exceed; 0 if there are none."""
        left = quantile * len(self)
        latency = 0
        for nanoseconds, count in sorted(self._counts.items()):
            latency, left = nanoseconds, left - count
            if left <= 0:
                break
        return latency / 1e6

    def quantiles(self) -> dict[str, float]:
        """Return the standard quantiles in milliseconds."""
        return {name: round(self.latency_at(quantile), 4) for name, quantile in QUANTILES.items()}

    def buckets(self) -> dict[str, int]:
        """Return the counts in ten buckets per factor of ten, each by its upper bound in milliseconds, shortest first.

        Empty buckets are omitted.
        """
        steps: Counter[int] = Counter()
        for nanoseconds, count in self._counts.items():
            steps[math.ceil(math.log10(max(nanoseconds, 1)) * _BUCKETS_PER_DECADE - 1e-9)] += count
        return {f"{10 ** (step / _BUCKETS_PER_DECADE) / 1e6:.4g}": count for step, count in sorted(steps.items())}


@dataclass(frozen=True)
class RunMetrics:
    """One run."""

    answered: int
    errors: int
    unanswered: int
    seconds: float
    """Seconds from the first request to the last response."""
    smallest: int
    largest: int
    """Smallest and largest response body, in bytes."""
    latencies: Latencies
    late: Latencies
    """Delays of requests that an open loop sent after their due time."""
    first_wrong: Mapping[str, Any] | None
    cpu: float | None = None
    """Processor time of the node's processes during the run, in seconds; None if they cannot be observed."""

    @classmethod
    def from_result(cls, measurements: Mapping[str, Any], cpu: float | None) -> "RunMetrics":
        """Return the figures of a result of the generator."""
        names = ("answered", "errors", "unanswered", "seconds", "smallest", "largest", "first_wrong")
        values = {name: measurements[name] for name in names}
        return cls(
            latencies=Latencies(measurements["latency"]), late=Latencies(measurements["late"]), cpu=cpu, **values
        )

    @property
    def rate(self) -> float:
        """Results per second."""
        return self.answered / self.seconds if self.seconds else 0.0

    @property
    def cpu_us(self) -> float | None:
        """Microseconds of the node's processor time per result."""
        return self.cpu / self.answered * 1e6 if self.cpu is not None and self.answered else None
