"""Files of benches/results: each names a commit of this repository and was measured without local changes."""

import json
import subprocess
from typing import Any

import pytest

from repository import ROOT

RESULTS = ROOT / "benches" / "results"
# Suites that measure speed, by the profile of their builds. That of the entrance compares two builds of one profile.
SPEED = {
    "compare": "dist",
    "core": "dist",
    "entrance": "release",
    "fanout": "dist",
    "peers": "dist",
    "step_root": "dist",
    "sync_send": "dist",
    "testing_suite": "dist",
    "visible": "dist",
    "workers": "dist",
}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _is_clean(report: dict[str, Any]) -> bool:
    commit = report.get("commit")
    if not commit or report.get("dirty") is not False:
        return False
    found = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, check=False
    )
    return found.returncode == 0


def _reports() -> dict[str, dict[str, Any]]:
    reports = {file.stem: json.loads(file.read_text()) for file in RESULTS.glob("*.json")}
    assert len(reports) > 15
    return reports


def test_results_name_an_existing_commit_without_changes() -> None:
    if _git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not have the commits that the results name")
    unclean = {name for name, report in _reports().items() if not _is_clean(report)}
    assert unclean == set(), "measure again on a clean commit"


def test_speed_is_measured_with_the_profile_of_the_wheel() -> None:
    profiles = {name: report.get("profile") for name, report in _reports().items() if name in SPEED}
    assert profiles == {name: SPEED[name] for name in profiles}
    assert {"compare", "core", "peers"} <= profiles.keys()
