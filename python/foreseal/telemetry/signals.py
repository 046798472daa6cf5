"""Spans and metrics as data, which programs make without the packages of OpenTelemetry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol


class SpanReference(NamedTuple):
    """Trace and span."""

    trace_id: int
    span_id: int


@dataclass(frozen=True, slots=True)
class FinishedSpan:
    """A span that has ended. Times are Unix times in nanoseconds."""

    name: str
    reference: SpanReference
    parent: SpanReference | None
    start: int
    end: int
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    links: tuple[SpanReference, ...] = ()
    kind: Literal["internal", "server", "client"] = "internal"
    error: str | None = None
    """Description of a failure; None without one."""


class MetricSample(Protocol):
    """One value of a family; `suffix` is appended to its name."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Values by label name; buckets have their upper bound as `le`."""
        ...

    @property
    def value(self) -> float:
        """Value of the sample."""
        ...

    @property
    def suffix(self) -> str:
        """Part of a histogram: `_bucket`, `_sum` or `_count`; empty for other kinds."""
        ...


@dataclass(frozen=True, slots=True)
class ExportedFamily:
    """A family of Prometheus with its samples. Those of a histogram are buckets, sum and count, in this order."""

    name: str
    kind: str
    """Gauge, counter or histogram, in lower case."""
    help: str
    samples: Sequence[MetricSample]
