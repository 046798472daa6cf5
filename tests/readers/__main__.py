"""The long form of the campaign, and its result as a file: `make readers`."""

import argparse
import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

from benches.origin import origin, save

from readers.campaign import Campaign


def main() -> int:
    """Run it twice, the second time a tenth as long over a chain that is reorganised; 0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m readers")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for the summaries and where they come from, JSON")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-readers-"))
    summaries, faults = [], 0
    for name, events, reorganise in (("forward", arguments.events, False), ("reorg", arguments.events // 10, True)):
        campaign = Campaign(folder / name, arguments.seed, reorganise=reorganise)
        summaries.append(campaign.run(events))
        print(summaries[-1], flush=True)
        for fault in campaign.faults[:50]:
            print(fault)
        faults += len(campaign.faults)
    if arguments.save is not None:
        command = f"make readers EVENTS={arguments.events} SEED={arguments.seed}"
        report = {
            **origin(command, ("granian", "websockets", "uvloop")),
            "summary": [str(summary) for summary in summaries],
            "figures": [dataclasses.asdict(summary) for summary in summaries],
        }
        save(report, arguments.save)
    if faults:
        print(f"the data directories are kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
