"""The short form of the campaign, and a proof that it finds violations. `make cluster-faults` is the long form."""

import os
import sys
from pathlib import Path

import pytest

from cluster.campaign import FaultCampaign
from cluster.plan import FaultKind, PlannedFault
from etcd_programs import etcd_program
from live.process import foreseal_command
from repository import PYTHONPATH, ROOT

FAULTS = int(os.environ.get("FORESEAL_CLUSTER_FAULTS", "4"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))
DOUBLE = (sys.executable, "-m", "cluster_double")


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Return the command of the double of a node."""
    path = os.pathsep.join((PYTHONPATH, str(ROOT / "python")))
    monkeypatch.setenv("PYTHONPATH", path)
    return DOUBLE


def check_campaign(campaign: FaultCampaign) -> None:
    """Inject faults, and check that the campaign saw enough and no violation."""
    summary = campaign.run(FAULTS)
    print(f"\n{summary}")
    assert campaign.report.violations == []
    assert summary.distinct > 10
    assert summary.transactions > 100


@pytest.mark.timeout(600)
def test_cluster_under_faults_breaks_no_guarantee(tmp_path: Path) -> None:
    check_campaign(FaultCampaign(tmp_path, etcd_program(), (foreseal_command(),), SEED))


@pytest.mark.timeout(600)
def test_double_under_faults_breaks_no_guarantee(tmp_path: Path, double: tuple[str, ...]) -> None:
    check_campaign(FaultCampaign(tmp_path, etcd_program(), double, SEED))


@pytest.mark.timeout(600)
def test_removed_comparisons_are_found(
    tmp_path: Path, double: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_DOUBLE_SKIP", "owner,head")
    campaign = FaultCampaign(tmp_path, etcd_program(), double, SEED)
    # When the leader resumes, another process is the owner.
    summary = campaign.run_plan(lambda: [PlannedFault(FaultKind.PAUSE_LONG, ("leader",), 1.0, 4.0)])
    print(f"\n{summary}")
    assert summary.violations["two_owners"] > 0
