"""The long form of the campaign, with its result in a file: `make readers`."""

import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from readers.campaign import Campaign


def main() -> int:
    """Run it twice, the second time a tenth as long on a chain with reorganizations; return 0 without faults."""
    parser = options("readers")
    parser.add_argument("--events", type=int, default=1_000_000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-readers-"))
    summaries, faults = [], []
    for name, events, reorganize in (("forward", given.events, False), ("reorg", given.events // 10, True)):
        campaign = Campaign(folder / name, given.seed, reorganize=reorganize)
        summaries.append(campaign.run(events))
        show(summaries[-1], campaign.faults)
        faults += campaign.faults
    command = f"make readers EVENTS={given.events} SEED={given.seed}"
    return conclude(summaries, faults, given.save, (command, ("granian", "websockets", "uvloop")), folder)


if __name__ == "__main__":
    sys.exit(main())
