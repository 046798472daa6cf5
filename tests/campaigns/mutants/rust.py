"""Mutation tests of each invariant (`make mutants`).

One build of a copy with the switches, then each test of `rust_tests.toml` without a switch, when it must pass, and with
each of its switches, when it must fail. Names given as arguments select switches. Exit 1 if a mutant survives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from mutants.rust_copy import COPY, load_patches, update_copy

LIB = "lib"
SECONDS_PER_TEST = 300


@dataclass(frozen=True)
class Fault:
    """Common fields of a mutant."""

    name: str
    breaks: str
    """The guarantee that it breaks."""


M = TypeVar("M", bound=Fault)


@dataclass(frozen=True)
class Mutant(Fault):
    """One switch, and the test that must fail with it."""

    package: str
    target: str
    test: str


def load() -> list[Mutant]:
    """Read the list and check it against the switches of the patches."""
    tests = tomllib.loads(Path(__file__).with_name("rust_tests.toml").read_text())["tests"]
    mutants = [
        Mutant(name, breaks, each["package"], each["target"], each["test"])
        for each in tests
        for name, breaks in each["mutants"].items()
    ]
    listed = {mutant.name for mutant in mutants}
    patched = set().union(*(patch.switches() for patch in load_patches()))
    if not patched:
        sys.exit("mutants: no switch found in rust_patches.toml")
    if listed != patched:
        unlisted, unpatched = sorted(patched - listed), sorted(listed - patched)
        sys.exit(f"mutants: not in rust_tests.toml: {unlisted}; not in rust_patches.toml: {unpatched}")
    return mutants


def build(mutants: Sequence[Mutant]) -> dict[tuple[str, str], str]:
    """Build the tests of the mutants in the copy; return the executables by package and target."""
    packages = [argument for package in sorted({mutant.package for mutant in mutants}) for argument in ("-p", package)]
    targets = [
        argument
        for target in sorted({mutant.target for mutant in mutants})
        for argument in (["--lib"] if target == LIB else ["--test", target])
    ]
    done = subprocess.run(
        ["cargo", "test", "--release", "--no-run", *packages, *targets, "--message-format=json-render-diagnostics"],
        cwd=COPY,
        # In a shared folder, cargo could use a mutant of a crate for the product.
        env={**os.environ, "CARGO_TARGET_DIR": str(COPY / "target")},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        sys.exit(done.returncode)
    executables = {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            package = Path(message["manifest_path"]).parent.name
            target = message["target"]
            name = LIB if "lib" in target["kind"] else target["name"]
            executables[f"foreseal-{package}", name] = message["executable"]
    return executables


def passes(executable: str, test: str, mutant: str | None) -> bool:
    """Run one test, with or without a switch."""
    environment = {
        **os.environ,
        "RUST_BACKTRACE": "0",
        # A failure is expected: neither shrink nor persist it.
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    }
    environment.pop("FORESEAL_MUTANT", None)
    if mutant:
        environment["FORESEAL_MUTANT"] = mutant
    done = subprocess.run(
        [executable, "--exact", test],
        cwd=COPY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_PER_TEST,
        check=False,
    )
    if "running 1 test\n" not in done.stdout:
        sys.exit(f"mutants: {executable} has no test {test}")
    return done.returncode == 0


def selected_mutants(mutants: Sequence[M]) -> list[M]:
    """Return the mutants named as arguments of the command, by default all. Exit for an unknown name."""
    chosen = set(sys.argv[1:]) or {mutant.name for mutant in mutants}
    if unknown := sorted(chosen - {mutant.name for mutant in mutants}):
        sys.exit(f"mutants: unknown: {unknown}")
    return [mutant for mutant in mutants if mutant.name in chosen]


def report(mutants: Sequence[M], healthy: Callable[[M], bool], survives: Callable[[M], bool]) -> int:
    """Test each mutant and print its outcome; return 1 if one survives, or its tests fail without it."""
    bad = 0
    for mutant in mutants:
        if not healthy(mutant):
            verdict = "FAILS WITHOUT IT"
        else:
            verdict = "SURVIVED" if survives(mutant) else "caught"
        bad += verdict != "caught"
        print(f"{verdict:<16} {mutant.name:<38} {mutant.breaks}", flush=True)
    print(f"{len(mutants) - bad} of {len(mutants)} mutants caught")
    return 1 if bad else 0


def main() -> int:
    """Run the selected mutants; return 1 if one survives or a test fails without one."""
    mutants = selected_mutants(load())
    update_copy()
    executables = build(mutants)

    def executable(mutant: Mutant) -> str:
        path = executables.get((mutant.package, mutant.target))
        if path is None:
            sys.exit(f"mutants: {mutant.package} has no test target {mutant.target}")
        return path

    healthy = cache(lambda executable, test: passes(executable, test, None))
    return report(
        mutants,
        lambda mutant: healthy(executable(mutant), mutant.test),
        lambda mutant: passes(executable(mutant), mutant.test, mutant.name),
    )


if __name__ == "__main__":
    sys.exit(main())
