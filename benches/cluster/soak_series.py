"""Series of memory and disk use of a long run."""

from collections.abc import Sequence
from typing import Any

from benches.cluster.process_sample import ProcessSample

_MB = 1e6
# Rows of the saved series; more add nothing to a chart.
MAX_ROWS = 120


class SoakSeries:
    """Samples of each process over time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.samples: list[list[ProcessSample]] = []

    def add(self, seconds: float, samples: Sequence[ProcessSample]) -> None:
        """Add the samples of all processes at a time in seconds since the start."""
        self.seconds.append(seconds)
        self.samples.append(list(samples))

    def summary(self) -> dict[str, Any]:
        """Return start, end and maximum of each process, and growth of anonymous memory in the second half, in MB."""
        columns = {}
        half = len(self.samples) // 2
        for column in zip(*self.samples, strict=True):
            resident = [each.resident / _MB for each in column]
            anonymous = [each.anonymous / _MB for each in column]
            disk = [each.disk / _MB for each in column]
            columns[column[0].name] = {
                "resident_mb": _range(resident),
                "anonymous_mb": _range(anonymous),
                "anonymous_growth_of_second_half_mb": round(max(anonymous[half:]) - max(anonymous[: half + 1]), 1),
                "disk_mb": _range(disk),
            }
        return columns

    def rows(self) -> list[dict[str, Any]]:
        """Return at most `MAX_ROWS` rows, evenly spread: seconds, and memory and disk use in MB by process."""
        every = max(1, -(-len(self.samples) // MAX_ROWS))
        return [
            {
                "seconds": round(seconds),
                "resident_mb": {each.name: round(each.resident / _MB, 1) for each in samples},
                "anonymous_mb": {each.name: round(each.anonymous / _MB, 1) for each in samples},
                "disk_mb": {each.name: round(each.disk / _MB, 1) for each in samples},
            }
            for seconds, samples in list(zip(self.seconds, self.samples, strict=True))[::every]
        ]


def _range(values: Sequence[float]) -> dict[str, float]:
    return {"start": round(values[0], 1), "end": round(values[-1], 1), "max": round(max(values), 1)}
