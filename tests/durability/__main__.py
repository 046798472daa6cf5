"""The long form of the campaign, and its result as a file: `make kills`."""

import argparse
import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

from benches.origin import origin, save

from durability import workers
from durability.campaign import Campaign


def main() -> int:
    """Run it; 0 if nothing was lost."""
    parser = argparse.ArgumentParser(prog="python -m durability")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes that answer; a load of its own for several")
    parser.add_argument("--submissions", type=int, default=500, help="a second, to several workers")
    parser.add_argument("--readers", type=int, default=200, help="of several workers")
    parser.add_argument("--save", type=Path, help="file for the summary and where it comes from, JSON")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-kills-"))
    campaign: Campaign | workers.Campaign
    if arguments.workers == 1:
        campaign = Campaign(folder, arguments.seed)
        command = f"make kills KILLS={arguments.kills} SEED={arguments.seed}"
    else:
        load = arguments.submissions, arguments.readers
        campaign = workers.Campaign(folder, arguments.seed, arguments.workers, *load)
        command = f"make kills-workers KILLS={arguments.kills} SEED={arguments.seed} WORKERS={arguments.workers}"
    summary = campaign.run(arguments.kills)
    print(summary)
    for fault in campaign.record.faults[:50]:
        print(fault)
    if arguments.save is not None:
        report = {
            **origin(command, ("granian", "uvloop")),
            "summary": str(summary),
            "figures": dataclasses.asdict(summary),
        }
        save(report, arguments.save)
    if campaign.record.faults:
        print(f"the data directory is kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
