"""The short form of `make hour`, and the arithmetic of its verdict."""

from pathlib import Path

import pytest

from soak.campaign import Campaign
from soak.load import Rates
from soak.samples import Growth, Sample, growth_of

SECONDS, INTERVAL = 12.0, 1.2


@pytest.mark.timeout(120)
def test_load_is_answered_and_sizes_are_sampled(tmp_path: Path, transport: str) -> None:
    rates = Rates(submissions=40.0, reads=40.0)
    summary = Campaign(tmp_path, transport, 1, rates).run(SECONDS, INTERVAL, lambda _: None)
    assert summary.faults == []
    assert len(summary.samples) == 11
    assert all(sample.anonymous_mb > 10 for sample in summary.samples)
    assert summary.growth is not None
    # Half of the load on an idle machine, and some of each kind.
    assert summary.counts["submissions"] > SECONDS * rates.submissions / 2
    assert summary.counts["reads"] > SECONDS * rates.reads / 2
    assert min(summary.counts[kind] for kind in ("notifications", "filters", "visits")) > 5


def samples(*sizes: float) -> list[Sample]:
    """Return samples one minute apart with these MB of anonymous memory."""
    return [Sample(60.0 * at, size, 2 * size, 30, 10, 0.0) for at, size in enumerate(sizes)]


def test_memory_that_fills_in_the_first_quarter_is_flat() -> None:
    growth = growth_of(samples(*(30.0 + 6 * at for at in range(15)), *([120.0, 121.0, 120.5] * 15)))
    assert growth.is_flat
    assert 119 < growth.second_quarter_mb < 122


def test_steady_growth_is_not_flat() -> None:
    growth = growth_of(samples(*(100.0 + 0.2 * at for at in range(60))))
    assert growth.mb_in_ten_minutes == pytest.approx(2.0, abs=0.01)
    assert not growth.is_flat


def test_step_in_the_last_quarter_is_not_flat() -> None:
    assert not growth_of(samples(*[100.0] * 45, *[112.0] * 15)).is_flat
    assert not Growth(100.0, 110.0, 0.5).is_flat
    assert Growth(100.0, 108.9, 0.5).is_flat
