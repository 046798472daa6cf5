"""The example project's own tests pass in a separate pytest, as for an outside user."""

import shutil
import subprocess
import sys
from pathlib import Path

from repository import SUPPORT

PROJECT = SUPPORT / "example_project"


def test_the_example_project_passes(tmp_path: Path) -> None:
    folder = shutil.copytree(PROJECT, tmp_path / "project")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "9 passed" in run.stdout
