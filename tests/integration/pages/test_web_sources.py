"""The sources of the browser pages: types, libraries, generated interfaces, and their unit tests."""

import json
import re
import subprocess
from pathlib import Path

from merchant_client.typescript import compile_types
from npm import find_node
from repository import ROOT

WEB = ROOT / "web"
SECONDS = 100.0


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in web/ and return its result."""
    return subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_sources_pass_the_type_check() -> None:
    run = compile_types("--project", str(WEB))
    assert run.returncode == 0, run.stdout + run.stderr


def test_written_files_are_current() -> None:
    run = _run(find_node(), "tools/contract-abis.mjs", "--check")
    assert run.returncode == 0, run.stdout + run.stderr


def test_libraries_are_those_of_the_lock_file() -> None:
    """Each has a hash and no address of a registry, and the repository contains none of them."""
    locked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    libraries = {path.removeprefix("node_modules/"): entry for path, entry in locked.items() if path}
    assert set(libraries) == set(json.loads((WEB / "package.json").read_text())["dependencies"])
    for entry in libraries.values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry
    tracked = subprocess.run(
        ["git", "ls-files", "python/foreseal/pages/vendor"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert tracked.stdout == ""


def test_unit_tests_pass() -> None:
    run = _run(find_node(), "--test", "--test-reporter=tap", "tests/")
    assert run.returncode == 0, run.stdout + run.stderr
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.MULTILINE)
    written = sum(path.read_text().count("\ntest(") for path in Path(WEB / "tests").glob("*.test.js"))
    assert passed is not None
    assert int(passed[1]) >= written > 50
