"""Pure functions of the rolling upgrade."""

from pathlib import Path

import pytest

from cluster_upgrade.submission_probe import Submission
from cluster_upgrade.upgrade_phase import UpgradePhase, phase_figures
from live.proxies import describe_haproxy, set_nodes


def test_deployed_configuration_gets_all_nodes_on_loopback(tmp_path: Path) -> None:
    describe_haproxy("haproxy", tmp_path, 8545, [1001, 1002, 1003, 1004])
    text = (tmp_path / "haproxy.cfg").read_text()
    assert "bind 127.0.0.1:8545" in text
    assert [text.count(f"127.0.0.1:{port}") for port in (1001, 1002, 1003, 1004)] == [4, 4, 4, 4]
    assert "10.0.0." not in text
    assert text.count("backup no-check") == 8


def test_configuration_without_nodes_is_rejected() -> None:
    with pytest.raises(ValueError, match="no node"):
        set_nodes("bind :443 ssl\n", [2])


def test_submission_belongs_to_the_phase_in_which_it_began() -> None:
    phases = [UpgradePhase("handover", 10.0, 12.0), UpgradePhase("leader", 12.0, 15.0)]
    submissions = [
        Submission(11.9, 12.3, 12.0, "no leader"),
        Submission(12.5, 12.6, None),
        Submission(16.0, 16.1, None),
    ]
    handover, leader = phase_figures(phases, submissions, [14.0, 9.0])
    assert (handover.submissions, handover.rejected, handover.failed_reads) == (1, 1, 0)
    assert (handover.longest_rejection_ms, handover.longest_delay_ms) == (300, 400)
    assert (leader.submissions, leader.rejected, leader.longest_delay_ms, leader.failed_reads) == (1, 0, 100, 1)
