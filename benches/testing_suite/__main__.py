"""Run the same 200 tests on the three chains, interleaved round by round, and save the figures."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from benches.result_file import save
from benches.testing_suite.environment import prepare, versions

from foreseal.bench.provenance import read_provenance

HERE = Path(__file__).parent
PROJECT = HERE / "project"
RESULT = HERE.parent / "results" / "testing_suite.json"
PACKAGES = ("coincurve", "eth-account", "eth-tester", "foreseal", "py-evm", "pytest", "web3")
OURS = "foreseal"
PEERS = ("eth-tester", "anvil")
TARGET = 10
"""Target ratio to the faster of the two peers."""


@dataclass(frozen=True, slots=True)
class Round:
    """One run of the 200 tests, in seconds."""

    tests: float
    """Set-up, call and tear-down of all tests, the start of the chain included; without pytest's start and imports."""
    wall: float
    """Wall time of the whole process."""
    cpu: float
    """CPU time of the process and its children, user and system."""


def run(python: Path, anvil: Path, chain: str) -> Round:
    """Run the tests on one chain; all must pass."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "seconds"
        command = [str(python), "-m", "pytest", str(PROJECT), "-c", str(PROJECT / "pytest.ini"), "--chain", chain]
        begin = monotonic()
        process = subprocess.Popen(
            [*command, f"--anvil={anvil}", f"--seconds={report}"], cwd=PROJECT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, printed
        return Round(float(report.read_text()), wall, usage.ru_utime + usage.ru_stime)


def anvil_command() -> Path:
    """Return the path of anvil as installed for the differential tests."""
    tests = HERE.parents[1] / "tests"
    sys.path[:0] = [str(tests / "support"), str(tests / "campaigns")]
    from differential.anvil import anvil_command

    return anvil_command()


def summary(measured: dict[str, list[Round]]) -> list[dict[str, object]]:
    """Return medians over the rounds; a ratio is the median of the rounds' own ratios to foreseal.testing."""
    results: list[dict[str, object]] = []
    for chain, rounds in measured.items():
        row: dict[str, object] = {"chain": chain}
        for figure in ("tests", "wall", "cpu"):
            pairs = zip(rounds, measured[OURS], strict=True)
            ratios = [getattr(theirs, figure) / getattr(ours, figure) for theirs, ours in pairs]
            row[f"{figure}_seconds"] = round(statistics.median(getattr(one, figure) for one in rounds), 3)
            row[f"{figure}_ratio"] = round(statistics.median(ratios), 2)
        results.append(row)
    return results


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.testing_suite", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    python, anvil = prepare(), anvil_command()
    measured: dict[str, list[Round]] = {chain: [] for chain in (OURS, *PEERS)}
    for number in range(options.rounds + 1):
        for chain, rounds in measured.items():
            one = run(python, anvil, chain)
            print(
                f"{chain:12} tests {one.tests:6.2f} s   process {one.wall:6.2f} s, {one.cpu:6.2f} s of CPU", flush=True
            )
            # The first round is the warm-up.
            if number:
                rounds.append(one)
    results = summary(measured)
    for row in results:
        print(f"{row['chain']:12} tests {row['tests_seconds']:>7} s  x{row['tests_ratio']}   cpu x{row['cpu_ratio']}")
    reached = min(float(str(row["tests_ratio"])) for row in results if row["chain"] in PEERS) >= TARGET
    report = read_provenance(f"python -m benches.testing_suite --rounds {options.rounds}", ()) | {
        "tests": 200,
        "rounds": options.rounds,
        "target": TARGET,
        "reached": reached,
        "results": results,
    }
    report["versions"] = {**report["versions"], **versions(python, PACKAGES), "anvil": anvil_version(anvil)}  # type: ignore[dict-item]
    save(report, RESULT)
    print(f"saved {RESULT.relative_to(Path.cwd())}")


def anvil_version(anvil: Path) -> str:
    """Return the version that the command prints."""
    run = subprocess.run([str(anvil), "--version"], check=True, capture_output=True, text=True)
    return run.stdout.split()[2]


if __name__ == "__main__":
    main()
