"""What a run of the generator measured."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}


class Latencies:
    """Nanoseconds of many requests, as the generator's HDR histogram tells them apart."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self._counts = Counter(dict(counts))

    def add(self, other: "Latencies") -> None:
        """Count those as well."""
        self._counts.update(other._counts)

    def __len__(self) -> int:
        return self._counts.total()

    def at(self, part: float) -> float:
        """Milliseconds that so large a part of all did not exceed; 0 where there are none."""
        left = part * len(self)
        found = 0
        for nanoseconds, count in sorted(self._counts.items()):
            found, left = nanoseconds, left - count
            if left <= 0:
                break
        return found / 1e6

    def quantiles(self) -> dict[str, float]:
        """The usual ones, in milliseconds."""
        return {name: round(self.at(part), 4) for name, part in QUANTILES.items()}


@dataclass(frozen=True)
class Figures:
    """One run."""

    answered: int
    errors: int
    unanswered: int
    seconds: float
    """From the first request to the last answer."""
    smallest: int
    largest: int
    """Bytes of the bodies of answers."""
    latencies: Latencies
    late: Latencies
    """By how much requests of an open loop were sent too late."""
    first_wrong: Mapping[str, Any] | None
    cpu: float | None = None
    """Seconds of processor time of the node's processes meanwhile; None where they cannot be seen."""

    @classmethod
    def of(cls, found: Mapping[str, Any], cpu: float | None) -> "Figures":
        """From what the generator says."""
        names = ("answered", "errors", "unanswered", "seconds", "smallest", "largest", "first_wrong")
        kept = {name: found[name] for name in names}
        return cls(latencies=Latencies(found["latency"]), late=Latencies(found["late"]), cpu=cpu, **kept)

    @property
    def rate(self) -> float:
        """Results a second."""
        return self.answered / self.seconds if self.seconds else 0.0

    @property
    def cpu_us(self) -> float | None:
        """Microseconds of the node's processor time for each result."""
        return self.cpu / self.answered * 1e6 if self.cpu is not None and self.answered else None
