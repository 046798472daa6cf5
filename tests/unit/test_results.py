"""Files of benches/results: each names a commit of this repository and was measured without local changes."""

import json
import subprocess
from typing import Any

import pytest

from repository import ROOT

RESULTS = ROOT / "benches" / "results"
# Older files, to be measured again: this set may only shrink.
STALE = {
    *("anvil", "compare", "compare_peers", "execution", "load", "logs", "python", "scale", "signing", "start"),
    *("hostile_findings", "hostile_patterns", "hostile_starvation"),
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


def test_results_name_an_existing_commit_without_changes() -> None:
    if _git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("a shallow clone does not have the commits that the results name")
    reports = {file.stem: json.loads(file.read_text()) for file in RESULTS.glob("*.json")}
    assert len(reports) > 20
    unclean = {name for name, report in reports.items() if not _is_clean(report)}
    assert unclean - STALE == set(), "measure again on a clean commit"
    assert STALE - unclean == set(), "remove these from STALE"
