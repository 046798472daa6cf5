"""The long form: many executions of each target under libFuzzer, and their results."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from fuzz.corpus import SAVED
from fuzz.targets import TARGETS
from repository import PYTHONPATH, ROOT

WORK = ROOT / "target" / "fuzz"
_COVERAGE = (
    "-Cpasses=sancov-module "
    "-Cllvm-args=-sanitizer-coverage-level=4 "
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters "
    "-Cllvm-args=-sanitizer-coverage-pc-table "
    "-Cllvm-args=-sanitizer-coverage-trace-compares"
)
"""Build flags of cargo-fuzz without a sanitizer; a stable compiler accepts them."""

_EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_LIVE = re.compile(r"^#(\d+)\s.* cov: (\d+)", re.MULTILINE)
_FOUND = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Run:
    """Result of one target."""

    target: str
    engine: str
    executions: int
    seconds: float
    edges: int
    """Code edges reached."""
    longest: int
    """Bytes of the longest input."""
    finding: str | None
    """The failing input."""

    def __str__(self) -> str:
        rate = self.executions / max(self.seconds, 0.001)
        said = f"{self.target:12} {self.executions:>11,} executions {self.seconds:>7.0f} s {rate:>9,.0f}/s"
        return f"{said} {self.edges:>6} edges  {self.finding or 'nothing found'}"


def rust_targets() -> dict[str, int]:
    """Return the names of the Rust targets, and the maximum input size of each in bytes."""
    longest = {}
    for path in (ROOT / "fuzz" / "src" / "targets").glob("*.rs"):
        match = re.search(r'name: "(\w+)",\s+longest: (\d+)', path.read_text())
        if match:
            longest[match[1]] = int(match[2])
    return dict(sorted(longest.items()))


def build() -> Path:
    """Build the program with all Rust targets, with coverage counters, in a separate folder."""
    host = next(
        line.split()[1]
        for line in subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines()
        if line.startswith("host:")
    )
    command = ["cargo", "build", "--release", "--package", "foreseal-fuzz", "--features", "libfuzzer"]
    where = ["--bin", "fuzz", "--target", host, "--target-dir", str(WORK)]
    subprocess.run([*command, *where], cwd=ROOT, check=True, env={**os.environ, "RUSTFLAGS": _COVERAGE})
    return WORK / host / "release" / "fuzz"


def fuzz(target: str, executions: int, seed: int, seconds: int, program: Path | None) -> Run:
    """Run one target up to a number of executions, a time limit in seconds (0: none), or the first finding."""
    longest = TARGETS[target].longest if target in TARGETS else rust_targets()[target]
    grown, artifacts = WORK / "grown" / target, WORK / "found" / target
    for folder in (grown, artifacts):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    options = {
        "runs": executions,
        "seed": seed,
        "max_len": longest,
        "max_total_time": seconds,
        "timeout": 20,
        # Slow inputs on a stalled machine are not findings; infinite loops are.
        "report_slow_units": 3600,
        "rss_limit_mb": 3000,
        "print_final_stats": 1,
        "artifact_prefix": f"{artifacts}/",
    }
    arguments = [*(f"-{name}={value}" for name, value in options.items()), str(grown), str(SAVED / target)]
    if target in TARGETS:
        command = [sys.executable, "-m", "fuzz.engine", target, *arguments]
        environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    else:
        assert program is not None, "the Rust targets are built"
        command = [str(program), *arguments]
        environment = {**os.environ, "FORESEAL_FUZZ_TARGET": target}
    log = WORK / f"{target}.log"
    with log.open("wb") as out:
        # Measured by the wall clock: a busy machine is part of the figure.
        before = os.times().elapsed
        subprocess.run(command, env=environment, stdout=out, stderr=out, cwd=WORK, check=False)
        took = os.times().elapsed - before
    return _read(target, log.read_text(errors="replace"), took, longest)


def _read(target: str, said: str, took: float, longest: int) -> Run:
    live = _LIVE.findall(said)
    executed = _EXECUTED.search(said)
    match = _FOUND.search(said)
    count = int(executed[1]) if executed else max((int(number) for number, _ in live), default=0)
    edges = max((int(edges) for _, edges in live), default=0)
    finding = match[1] if match else None
    if executed is None and finding is None:
        finding = f"the run ended by itself: see {WORK / target}.log"
    guided = importlib.util.find_spec("atheris") is not None
    engine = "libFuzzer" if target not in TARGETS else "atheris" if guided else "no coverage"
    return Run(target, engine, count, round(took, 1), edges, longest, finding)


def versions() -> dict[str, str]:
    """Return the versions of the engines."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {package["name"]: package["version"] for package in lock["package"] if package["name"] == "libfuzzer-sys"}
