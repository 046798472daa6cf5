"""Makes the wheel and the source distribution, as a release does."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The project."""


def build_wheel(profile: str, out: Path) -> Path:
    """The wheel of this tree. The `release` profile takes up what `make build` compiled; `dist` is published."""
    return _maturin(out, "build", "--profile", profile)


def build_sdist(out: Path) -> Path:
    """The source distribution of this tree."""
    return _maturin(out, "sdist")


def build_from(sdist: Path, out: Path) -> Path:
    """The wheel that pip builds from a source distribution, with the build tools that it names.

    The crates of others are taken as they were compiled for the wheel of this tree.
    """
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, sdist]
    variables = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")}
    made = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert made.returncode == 0, made.stderr
    (found,) = out.iterdir()
    return found


def _maturin(out: Path, *arguments: str) -> Path:
    maturin = Path(sys.executable).with_name("maturin")
    made = subprocess.run([maturin, *arguments, "--out", out], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    (found,) = out.iterdir()
    return found
