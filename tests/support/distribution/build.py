"""Builds the wheel and the source distribution like a release."""

import os
import subprocess
import sys
from pathlib import Path

from repository import ROOT


def build_wheel(profile: str, out: Path) -> Path:
    """Build the wheel of this tree. The `release` profile reuses the output of `make build`; `dist` is published."""
    return _maturin(out, "build", "--profile", profile)


def build_sdist(out: Path) -> Path:
    """Build the source distribution of this tree."""
    return _maturin(out, "sdist")


def build_from(sdist: Path, out: Path) -> Path:
    """Return the wheel that pip builds from a source distribution, with its declared build tools.

    Compiled third-party crates of this tree's wheel are reused.
    """
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(sdist)]
    variables = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")}
    made = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert made.returncode == 0, made.stderr
    (wheel,) = out.iterdir()
    return wheel


def _maturin(out: Path, *arguments: str) -> Path:
    maturin = Path(sys.executable).with_name("maturin")
    made = subprocess.run([maturin, *arguments, "--out", out], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    (archive,) = out.iterdir()
    return archive
