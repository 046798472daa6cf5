"""Sizes of a process over time, and the test for growth."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from day.campaign import ring_kb

_MB = 1024.0
# Limits of growth after the first quarter of a flat run: slope of the fitted line, and ratio of the last quarter to the
# second one. Growth below them is noise of caches and of the allocator.
SLOPE = 1.0
FACTOR, MARGIN = 1.05, 4.0


@dataclass(frozen=True)
class Sample:
    """Sizes at one moment."""

    second: float
    """Seconds since the load began."""
    anonymous_mb: float
    resident_mb: float
    """Resident memory, including cached pages of the store."""
    descriptors: int
    threads: int
    cpu: float
    """Seconds of processor time so far."""
    arrivals_mb: float = 0.0
    """Anonymous memory of the hashes of the newest transactions: a ring that takes most of an hour to fill."""

    @property
    def other_mb(self) -> float:
        """Anonymous memory without that ring."""
        return self.anonymous_mb - self.arrivals_mb


def read_sample(pid: int, second: float, submissions: int) -> Sample:
    """Read the sizes of a process that has accepted this many transactions."""
    process = Path("/proc") / str(pid)
    values = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    anonymous, resident = (int(values[name].split()[0]) / _MB for name in ("RssAnon", "VmRSS"))
    times = (process / "stat").read_text().rpartition(")")[2].split()
    return Sample(
        second=round(second, 1),
        anonymous_mb=round(anonymous, 2),
        resident_mb=round(resident, 2),
        descriptors=len(os.listdir(process / "fd")),
        threads=int(values["Threads"]),
        cpu=sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK"),
        arrivals_mb=ring_kb(submissions) / _MB,
    )


@dataclass(frozen=True)
class Growth:
    """Growth of anonymous memory, without the ring of arrivals, after the first quarter of a run."""

    second_quarter_mb: float
    last_quarter_mb: float
    mb_in_ten_minutes: float
    """Slope of the line through all samples after the first quarter."""

    @property
    def is_flat(self) -> bool:
        """True if neither figure shows growth."""
        limit = FACTOR * self.second_quarter_mb + MARGIN
        return self.mb_in_ten_minutes < SLOPE and self.last_quarter_mb <= limit


def growth_of(samples: Sequence[Sample]) -> Growth:
    """Return the growth over at least four evenly spaced samples."""
    quarter = len(samples) // 4
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    return Growth(
        second_quarter_mb=round(fmean(each.other_mb for each in second), 2),
        last_quarter_mb=round(fmean(each.other_mb for each in last), 2),
        mb_in_ten_minutes=round(600 * _slope(samples[quarter:]), 3),
    )


def _slope(samples: Sequence[Sample]) -> float:
    """Return the slope in MB per second."""
    times, sizes = [each.second for each in samples], [each.other_mb for each in samples]
    time, size = fmean(times), fmean(sizes)
    spread = sum((each - time) ** 2 for each in times)
    return sum((at - time) * (is_ - size) for at, is_ in zip(times, sizes, strict=True)) / spread if spread else 0.0
