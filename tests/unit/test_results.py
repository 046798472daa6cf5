"""Files of benches/results: each names a commit of this repository and was measured without local changes."""

import json
import re
import subprocess
from typing import Any

import pytest

from repository import ROOT

RESULTS = ROOT / "benches" / "results"
# Suites that measure speed: built with the profile of the wheel.
SPEED = {
    "bootstrap",
    "compare",
    "core",
    "entrance",
    "fanout",
    "opcodes",
    "optimism_cost",
    "payment_delay",
    "payment_rate",
    "payment_rate_postgresql",
    "peers",
    "quorum_cost",
    "replica_lag",
    "start_figures",
    "step_root",
    "sync_send",
    "testing_suite",
    "visible",
    "workers",
}
WHEEL_PROFILE = "dist"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _is_clean(report: dict[str, Any]) -> bool:
    commit = report.get("commit")
    if not commit or report.get("dirty") is not False:
        return False
    process = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, check=False
    )
    return process.returncode == 0


def _reports() -> dict[str, dict[str, Any]]:
    reports = {file.stem: json.loads(file.read_text()) for file in RESULTS.glob("*.json")}
    assert len(reports) > 15
    return reports


def _has_profile(name: str, report: dict[str, Any]) -> bool:
    return name not in SPEED or report.get("profile") == WHEEL_PROFILE


def test_results_name_a_clean_commit_and_the_wheel_profile() -> None:
    if _git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not have the commits that the results name")
    reports = _reports()
    stale = {name for name, report in reports.items() if not (_is_clean(report) and _has_profile(name, report))}
    assert stale == set(), "measure again on a clean commit"


def test_results_name_no_path_of_a_machine() -> None:
    named = re.compile(r"file:///|(?<![\w.])/(?:home|root|tmp|work|Users)/")
    by_file = {file.name: named.findall(file.read_text()) for file in RESULTS.glob("*.json")}
    assert {name for name, paths in by_file.items() if paths} == set()
