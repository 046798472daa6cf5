"""The sources of the browser pages: types, vendored files, generated interfaces, and their unit tests."""

import re
import subprocess
from pathlib import Path

import pytest

from npm import find_node, install
from repository import ROOT

WEB = ROOT / "web"
COMPILER = WEB / "merchant-client"
SECONDS = 100.0


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in web/ and return its result."""
    return subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_sources_pass_the_type_check() -> None:
    node = find_node()
    install(COMPILER)
    run = _run(node, str(COMPILER / "node_modules" / "typescript" / "bin" / "tsc"), "-p", "tsconfig.json")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("tool", ["vendor.mjs", "contract-abis.mjs"])
def test_written_files_are_current(tool: str) -> None:
    run = _run(find_node(), f"tools/{tool}", "--check")
    assert run.returncode == 0, run.stdout + run.stderr


def test_unit_tests_pass() -> None:
    run = _run(find_node(), "--test", "--test-reporter=tap", "tests/")
    assert run.returncode == 0, run.stdout + run.stderr
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.MULTILINE)
    written = sum(path.read_text().count("\ntest(") for path in Path(WEB / "tests").glob("*.test.js"))
    assert passed is not None
    assert int(passed[1]) >= written > 50
