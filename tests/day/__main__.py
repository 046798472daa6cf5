"""The long form: a day of 43,200 blocks. `make day` saves its result."""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from benches.origin import origin, save

from day.campaign import Campaign


def main() -> int:
    """Run it; 0 if nothing grew that should not, and all that was stored is whole."""
    parser = argparse.ArgumentParser(prog="python -m day")
    parser.add_argument("--blocks", type=int, default=43_200)
    parser.add_argument("--speed", type=int, default=50, help="how many times as fast as life")
    parser.add_argument("--pause", type=float, default=0.03, help="seconds between two requests of a user")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for the summary and where it comes from, JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreseal-day-") as folder:
        summary = Campaign(Path(folder), arguments.seed, arguments.speed, arguments.pause).run(arguments.blocks)
    print(summary)
    for fault in summary.faults[:20]:
        print(fault)
    if arguments.save is not None:
        command = f"make day DAY={arguments.blocks} SEED={arguments.seed}"
        figures = {"speed": arguments.speed, **dataclasses.asdict(summary)}
        save({**origin(command, ()), "summary": str(summary), "figures": figures}, arguments.save)
    return 1 if summary.faults else 0


if __name__ == "__main__":
    sys.exit(main())
