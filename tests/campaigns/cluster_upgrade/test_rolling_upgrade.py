"""The rolling upgrade as a test. `make cluster-upgrade` saves its result."""

import sys
from pathlib import Path

import pytest

from cluster_upgrade.rolling_upgrade import RollingUpgrade
from etcd_programs import etcd_program
from live.proxies import require_program


@pytest.mark.timeout(600)
def test_rolling_upgrade_loses_no_step_and_fails_no_read(tmp_path: Path) -> None:
    haproxy = require_program("haproxy")
    upgrade = RollingUpgrade(tmp_path, etcd_program(), haproxy, (sys.executable, "-m", "foreseal"), seed=1)
    summary = upgrade.run()
    print(f"\n{summary}")
    # Times depend on the machine: the long form checks them.
    assert [problem for problem in upgrade.problems if "was rejected for" not in problem] == []
    assert len(summary.restarted) == 7
    assert summary.reads > 100
