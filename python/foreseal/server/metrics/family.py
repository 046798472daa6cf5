"""Metric families: name, type, and the function that reads their samples."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from foreseal.server.metrics.read import Readings

MetricType = Literal["gauge", "counter", "histogram"]
Labels = dict[str, str]


class Sample(NamedTuple):
    """One value of a family; `suffix` is appended to its name."""

    labels: Labels
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `read` returns its samples; none if it does not apply."""

    name: str
    kind: MetricType
    help: str
    """HELP text, a sentence."""
    read: Callable[[Readings], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    """Label names of its samples."""


def histogram(labels: Labels, bounds: Sequence[float], counts: Sequence[int], seconds: float) -> Iterable[Sample]:
    """Return the samples of a histogram. `counts` has the cumulative count up to each bound, then the total."""
    for bound, count in zip((*map(str, bounds), "+Inf"), counts, strict=True):
        yield Sample(labels | {"le": bound}, count, "_bucket")
    yield Sample(labels, seconds, "_sum")
    yield Sample(labels, counts[-1], "_count")
