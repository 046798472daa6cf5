"""Targets of the Makefile in a clean clone, as `make --dry-run` prints their commands."""

import shutil
import subprocess

import pytest

from repository import ROOT


def commands_of(target: str) -> str:
    """Return the commands of a target and of all that it depends on, as if nothing was built yet."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not on the PATH")
    command = [make, "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


def test_wheel_builds_the_core_that_its_check_imports() -> None:
    printed = commands_of("wheel")
    assert 0 < printed.index("maturin develop") < printed.index("-m distribution")


def test_package_only_builds_the_wheel() -> None:
    printed = commands_of("package")
    assert "maturin build --profile dist --out dist" in printed
    assert "requirements/run.lock" in printed
    assert "requirements/dev.lock" not in printed
    assert "maturin develop" not in printed
    assert "benches/results" not in printed
