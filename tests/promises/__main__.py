"""The long form: every bit of a receipt of every step. `make promises` saves its result."""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from benches.origin import origin, save

from promises.campaign import Campaign, timed


def main() -> int:
    """Run it; 0 if every promise held and no changed one did."""
    parser = argparse.ArgumentParser(prog="python -m promises")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for the summary and where it comes from, JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreseal-promises-") as folder:
        campaign = Campaign(Path(folder), arguments.seed, every_bit=True)
        summary, seconds = timed(lambda: campaign.run(arguments.steps))
    print(f"{summary}; {seconds:.0f} s")
    for fault in summary.faults[:20]:
        print(fault)
    if arguments.save is not None:
        command = f"make promises STEPS={arguments.steps} SEED={arguments.seed}"
        figures = dataclasses.asdict(summary) | {"bits": dict(summary.bits)}
        report = {**origin(command, ()), "summary": str(summary), "figures": figures}
        save(report, arguments.save)
    return 1 if summary.faults else 0


if __name__ == "__main__":
    sys.exit(main())
