"""The long form: every decoder under a coverage-guided fuzzer. `make fuzz` saves its result."""

import argparse
import dataclasses
import sys
from pathlib import Path

import orjson
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from fuzz.campaign import Run, build, fuzz, rust_targets, versions
from fuzz.targets import TARGETS


def main() -> int:
    """Run it and return 0 if all invariants held."""
    known = [*rust_targets(), *TARGETS]
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("--target", default="all", help=f"all, or some of: {', '.join(known)}; commas between")
    parser.add_argument("--executions", type=int, default=1_000_000, help="of each target")
    parser.add_argument("--seconds", type=int, default=0, help="at most, for each target; 0: as long as it takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for the totals and where they come from, JSON")
    arguments = parser.parse_args()
    chosen = known if arguments.target == "all" else arguments.target.split(",")
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"there is no target called {', '.join(unknown)}: choose all, or some of {', '.join(known)}")
    program = build() if any(name not in TARGETS for name in chosen) else None
    runs = []
    for name in chosen:
        run = fuzz(name, arguments.executions, arguments.seed, arguments.seconds, program)
        print(run, flush=True)
        runs.append(run)
        if arguments.save is not None:
            save_totals(arguments.save, runs, arguments.executions, arguments.seed)
    total = sum(run.executions for run in runs)
    print(f"{total:,} executions of {len(runs)} targets, {sum(run.finding is not None for run in runs)} findings")
    return 1 if any(run.finding for run in runs) else 0


def save_totals(file: Path, runs: list[Run], executions: int, seed: int) -> None:
    """Save the totals; those of other targets remain unchanged."""
    old = orjson.loads(file.read_bytes())["targets"] if file.exists() else {}
    origins = read_provenance(f"make fuzz EXECUTIONS={executions} SEED={seed}", ())
    origins["versions"] = {**origins["versions"], **versions()}
    new = {run.target: {**dataclasses.asdict(run), "commit": origins["commit"]} for run in runs}
    targets = {**old, **new}
    total = sum(run["executions"] for run in targets.values())
    save({**origins, "executions": total, "targets": dict(sorted(targets.items()))}, file)


if __name__ == "__main__":
    sys.exit(main())
