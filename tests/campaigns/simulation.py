"""The long form of the simulation, with its result in a file: `make simulate` and `make simulate-cluster`.

With one seed it prints the effect of each action, and saves nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from repository import ROOT


def main() -> int:
    """Run the seeds and return 0 if no invariant failed."""
    parser = argparse.ArgumentParser(prog="python -m simulation")
    parser.add_argument("--seeds", type=int, default=20_000)
    parser.add_argument("--cluster", action="store_true", help="simulate several sequencers with one engine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for what was tried and where it comes from, JSON")
    arguments = parser.parse_args()
    command = ["cargo", "run", "--release", "--quiet", "-p", "foreseal-simulation", "--"]
    command += ["--seed", str(arguments.seed), "--seeds", str(arguments.seeds)]
    if arguments.cluster:
        command.append("--cluster")
    if arguments.seeds == 1:
        return subprocess.run(command, cwd=ROOT, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        # The damage of single bytes concerns the journal of one node.
        stride = [] if arguments.cluster else ["--stride", "1"]
        done = subprocess.run([*command, *stride, "--json", str(figures)], cwd=ROOT, check=False)
        if done.returncode == 0 and arguments.save is not None:
            target = "simulate-cluster" if arguments.cluster else "simulate"
            made = f"make {target} SEEDS={arguments.seeds} SEED={arguments.seed}"
            save({**read_provenance(made, ()), "figures": json.loads(figures.read_text())}, arguments.save)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
