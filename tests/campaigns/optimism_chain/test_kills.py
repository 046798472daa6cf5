"""SIGKILL at any moment loses no step that a node under a driver showed. `make optimism-kills` runs the long form."""

import os
from pathlib import Path

import pytest

from live_node import shared
from optimism_chain.sequencer_kills import SequencerKills
from optimism_chain.verifier_kills import VerifierKills

KILLS = int(os.environ.get("FORESEAL_KILLS", "3"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))


@pytest.mark.timeout(120 + 10 * KILLS)
def test_steps_of_a_killed_sequencer_continue_or_are_withdrawn(tmp_path: Path) -> None:
    campaign = SequencerKills(tmp_path / "node", SEED)
    summary = campaign.run(KILLS)
    print(f"\n{summary}")
    assert not campaign.faults, "\n".join(campaign.faults[:20])
    assert summary.kills >= KILLS
    assert summary.continued + summary.withdrawn
    assert summary.steps > 3 * KILLS
    assert summary.polled > 3 * KILLS
    assert summary.verified


@pytest.mark.timeout(120 + 10 * KILLS)
def test_killed_verifier_continues_its_recording(tmp_path: Path) -> None:
    campaign = VerifierKills(tmp_path / "nodes", shared("optimism"), SEED)
    summary = campaign.run(KILLS)
    print(f"\n{summary}")
    assert not campaign.faults, "\n".join(campaign.faults[:20])
    assert summary.kills >= KILLS
    assert summary.replays == summary.verified
    assert summary.exchanges > 300
    assert summary.steps > 50
