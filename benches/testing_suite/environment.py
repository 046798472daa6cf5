"""The virtual environment of the comparison, separate from the project's pinned versions."""

import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "target" / "testing_suite"
REQUIREMENTS = Path(__file__).parent / "requirements.txt"


def prepare() -> Path:
    """Build a wheel, install it with the peers, and return the environment's python."""
    python = FOLDER / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(FOLDER / "venv", with_pip=True)
    wheels = FOLDER / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    maturin = Path(sys.executable).with_name("maturin")
    _run(str(maturin), "build", "--profile", "release", "--out", str(wheels))
    (wheel,) = wheels.glob("*.whl")
    _run(str(python), "-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS))
    _run(str(python), "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(wheel))
    _run(str(python), "-m", "pip", "install", "--quiet", str(wheel))
    return python


def versions(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """Return the installed versions of these packages."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    run = subprocess.run([str(python), "-c", code, *packages], check=True, capture_output=True, text=True)
    return dict(zip(packages, run.stdout.split(), strict=True))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=REPOSITORY)
