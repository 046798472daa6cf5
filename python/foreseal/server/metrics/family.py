"""What a metric is: its name, its kind, and what reads it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from foreseal.server.metrics.read import Readings

Kind = Literal["gauge", "counter", "histogram"]
Labels = dict[str, str]


class Sample(NamedTuple):
    """One value of a family, under its name with `suffix` behind it."""

    labels: Labels
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `read` gives its samples; none where it does not apply."""

    name: str
    kind: Kind
    help: str
    """A sentence."""
    read: Callable[[Readings], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    """What its samples are told apart by."""


def histogram(labels: Labels, bounds: Sequence[float], counts: Sequence[int], seconds: float) -> Iterable[Sample]:
    """The samples of a histogram. `counts` has how many took at most as long as each bound, and then all of them."""
    for bound, count in zip((*map(str, bounds), "+Inf"), counts, strict=True):
        yield Sample(labels | {"le": bound}, count, "_bucket")
    yield Sample(labels, seconds, "_sum")
    yield Sample(labels, counts[-1], "_count")
