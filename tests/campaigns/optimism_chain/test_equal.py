"""Every step shown on an OP chain is sealed as it was shown, or withdrawn. `make optimism-equal` runs the long form."""

import os
from pathlib import Path

import pytest

from optimism import Fork
from optimism_chain.driver_loop import ABANDON_INTERVAL
from optimism_chain.equal_campaign import EqualCampaign

BLOCKS = int(os.environ.get("FORESEAL_OPTIMISM_BLOCKS", "6"))
SEED = int(os.environ.get("FORESEAL_SEED", "10"))


@pytest.mark.timeout(180 + 20 * BLOCKS)
@pytest.mark.parametrize(("workers", "fork"), [(0, Fork.JOVIAN), (2, Fork.KARST)], ids=["alone", "workers"])
def test_every_step_is_sealed_as_shown_or_withdrawn(workers: int, fork: Fork, tmp_path: Path) -> None:
    campaign = EqualCampaign(tmp_path / "node", SEED, workers, fork, ABANDON_INTERVAL if BLOCKS > 20 else 3)
    summary = campaign.run(BLOCKS)
    print(f"\n{summary}")
    assert not campaign.faults, "\n".join(campaign.faults[:20])
    assert summary.blocks >= BLOCKS
    assert summary.abandoned
    assert summary.gone_back
    assert summary.withdrawn
    assert summary.withdrawn_transactions
    assert summary.methods > 20
    assert summary.compared > summary.methods * BLOCKS
    assert summary.accepted > 20 * BLOCKS
    assert not summary.rejected
    assert summary.deposits
