"""The long form: `python -m flips --flips 1000`."""

import argparse
import sys
import tempfile
from pathlib import Path

from damage import chain
from flips.campaign import Report, run
from flips.kind import Outcome
from flips.kinds import KINDS


def main() -> int:
    """Run it and return 0 if no flipped bit was served or built upon and no process crashed."""
    parser = argparse.ArgumentParser(prog="python -m flips")
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all", help="Kind of files.")
    parser.add_argument("--flips", type=int, default=1000, help="Changed bits of each kind.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="Print each flip.")
    arguments = parser.parse_args()
    reports = []
    with tempfile.TemporaryDirectory(prefix="foreseal-flips-") as folder:
        datadir = Path(folder) / "chain"
        chain.make(datadir)
        for kind in KINDS if arguments.kind == "all" else [arguments.kind]:
            report = Report(kind)
            for result in run(kind, datadir, arguments.flips, arguments.seed):
                report.add(result)
                if arguments.verbose or result in report.bad:
                    print(result.outcome, result.flip, result.detail[:300], flush=True)
            reports.append(report)
    names = [outcome.value for outcome in Outcome]
    print("| file | flips | " + " | ".join(names) + " |")
    print("|---|--:|" + "--:|" * len(names))
    for report in reports:
        cells = [str(report.counts[outcome]) for outcome in Outcome]
        print(f"| {report.kind} | {report.counts.total()} | " + " | ".join(cells) + " |")
    return 1 if any(report.bad or report.unnamed for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
