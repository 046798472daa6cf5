"""promtool accepts the alert rules of `deploy/prometheus`, and their unit tests pass."""

import subprocess
from pathlib import Path

import pytest

from live.proxies import require_program
from repository import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULE_FILES = sorted(PROMETHEUS.glob("*.rules.yml"))
TEST_FILES = sorted(PROMETHEUS.glob("*.tests.yml"))


def _promtool(*arguments: str) -> None:
    command = [require_program("promtool"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_rules_are_found() -> None:
    assert (len(RULE_FILES), len(TEST_FILES)) == (3, 4)


@pytest.mark.parametrize("file", RULE_FILES, ids=lambda file: file.name)
def test_promtool_accepts_the_rules(file: Path) -> None:
    _promtool("check", "rules", str(file))


@pytest.mark.parametrize("file", TEST_FILES, ids=lambda file: file.name)
def test_unit_tests_of_the_rules_pass(file: Path) -> None:
    _promtool("test", "rules", str(file))


def test_promtool_accepts_the_configuration() -> None:
    _promtool("check", "config", "--syntax-only", str(PROMETHEUS / "prometheus.yml"))
