"""Readers of the feed get every event exactly once despite kills. `make readers` runs the long form."""

import os
from pathlib import Path

import pytest

from readers.campaign import LEAST, Campaign

EVENTS = int(os.environ.get("FORESEAL_EVENTS", "20000"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("reorganize", [False, True], ids=["forward", "reorganized"])
def test_every_reader_gets_the_appends_of_the_journal(tmp_path: Path, reorganize: bool) -> None:
    campaign = Campaign(tmp_path / "data", SEED, reorganize=reorganize)
    summary = campaign.run(EVENTS)
    print(f"\n{summary}")
    assert not campaign.faults, "\n".join(campaign.faults[:20])
    assert summary.events >= EVENTS
    assert min(summary.transactions, summary.logs) > EVENTS // 10
    assert summary.steps > 100
    assert summary.kills >= LEAST
    assert summary.cuts >= 3
    assert summary.connections > 3
    assert bool(summary.undone) == reorganize
