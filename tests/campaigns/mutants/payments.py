"""Mutation tests of the payments (`make mutants`).

Each entry of `payments.toml` changes a file of the package, in a copy; contracts are compiled again. Its tests must
pass without the change and fail with it. Names given as arguments select entries. Exit 1 if a mutant survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mutants.changes import Change, changed_text
from mutants.rust import Fault, report, selected_mutants
from repository import ROOT, SUPPORT

PYTHON = ROOT / "python"
PACKAGE = Path("foreseal/payments")
COMPILER = SUPPORT / "payments" / "contracts" / "compiler"
CONTRACTS = PACKAGE / "contracts"
SECONDS_PER_TEST = 600
# Exit codes of pytest.
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutant(Fault):
    """A change, and the tests of which at least one must fail."""

    file: str
    changes: tuple[Change, ...]
    tests: tuple[str, ...]


def load() -> list[Mutant]:
    """Read the list, and check that each change applies."""
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["mutant"]
    mutants = [
        Mutant(**entry | {name: tuple(map(kind, entry[name])) for name, kind in (("changes", tuple), ("tests", str))})
        for entry in entries
    ]
    for mutant in mutants:
        changed_text(PYTHON / PACKAGE / mutant.file, mutant.changes)
    return mutants


def change(copy: Path, mutant: Mutant) -> None:
    """Mutate the copy. Exit if the result does not compile: then it proves nothing."""
    path = copy / PACKAGE / mutant.file
    path.write_text(changed_text(path, mutant.changes))
    if path.suffix == ".sol":
        # Sources do not import from other folders, so one folder is enough.
        sources = copy / CONTRACTS / "sources"
        own = sources / path.relative_to(sources).parts[0]
        command = ["node", str(COMPILER / "compile.mjs"), str(own), str(copy / CONTRACTS / "compiled")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"mutants: {mutant.name} does not compile: {done.stdout}{done.stderr}")


def passes(python: Path, tests: tuple[str, ...]) -> bool:
    """Run tests on the package in a folder. Exit if they cannot be run."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider"]
    given = [f"tests/{test}" for test in tests]
    done = subprocess.run(
        [*command, *given],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(python), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_TEST,
        check=False,
    )
    if done.returncode not in (PASSED, FAILED):
        sys.exit(f"mutants: {given} cannot be run:\n{done.stdout}{done.stderr}")
    return done.returncode == PASSED


def survives(mutant: Mutant) -> bool:
    """Return True if the tests pass on a copy of the package with the mutant."""
    with tempfile.TemporaryDirectory(prefix="foreseal-mutant-") as place:
        copy = Path(place)
        shutil.copytree(PYTHON / "foreseal", copy / "foreseal", ignore=shutil.ignore_patterns("__pycache__"))
        change(copy, mutant)
        return passes(copy, mutant.tests)


@cache
def healthy(tests: tuple[str, ...]) -> bool:
    """Return True if tests pass on the unchanged package."""
    return passes(PYTHON, tests)


if __name__ == "__main__":
    sys.exit(report(selected_mutants(load()), lambda mutant: healthy(mutant.tests), survives))
