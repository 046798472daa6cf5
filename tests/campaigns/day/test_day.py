"""The short form of `make day`: less than an hour of the chain."""

from pathlib import Path

import pytest

from day.campaign import Campaign

BLOCKS = 400


@pytest.mark.timeout(300)
def test_day_of_mixed_load_leaves_a_consistent_store(tmp_path: Path) -> None:
    summary = Campaign(tmp_path, seed=1, speed=50, pause=0.03).run(BLOCKS)
    # The run is too short to assert growth: caches and the first segments of the journal fill.
    assert [fault for fault in summary.faults if "grew" not in fault] == []
    assert summary.blocks >= BLOCKS
    assert min(summary.counts[kind] for kind in ("transactions", "reads", "old reads", "filters", "events")) > 0
