"""SIGKILL never loses data that a client read as pre-confirmed. `make kills` runs the long form."""

import os
from pathlib import Path

import pytest

from durability import workers
from durability.campaign import Campaign

KILLS = int(os.environ.get("FORESEAL_KILLS", "8"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))


@pytest.mark.timeout(60 + 10 * KILLS)
def test_preconfirmed_data_survives_every_kill(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "data", SEED)
    summary = campaign.run(KILLS)
    print(f"\n{summary}")
    assert not campaign.record.faults, "\n".join(campaign.record.faults[:20])
    assert summary.kills >= KILLS
    assert summary.of_one_process
    assert summary.verified == KILLS + 1
    assert summary.steps > 3 * KILLS
    assert summary.preconfirmed > 10 * KILLS


@pytest.mark.timeout(120 + 15 * KILLS)
def test_data_shown_by_any_worker_survives_every_kill(tmp_path: Path) -> None:
    campaign = workers.Campaign(tmp_path / "data", SEED, workers=2, submissions=100, readers=40)
    summary = campaign.run(KILLS)
    print(f"\n{summary}")
    assert not campaign.record.faults, "\n".join(campaign.record.faults[:20])
    assert all(summary.kills[kind] for kind in workers.KINDS)
    assert summary.verified
    assert summary.steps > KILLS
    assert summary.preconfirmed > 5 * KILLS
