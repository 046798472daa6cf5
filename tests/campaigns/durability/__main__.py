"""The long form of the campaign, with its result in a file: `make kills`."""

import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from durability import workers
from durability.campaign import Campaign


def main() -> int:
    """Run it and return 0 if nothing was lost."""
    parser = options("durability")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1, help="processes that answer; a load of its own for several")
    parser.add_argument("--submissions", type=int, default=500, help="a second, to several workers")
    parser.add_argument("--readers", type=int, default=200, help="of several workers")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-kills-"))
    campaign: Campaign | workers.Campaign
    if given.workers == 1:
        campaign = Campaign(folder, given.seed)
        command = f"make kills KILLS={given.kills} SEED={given.seed}"
    else:
        campaign = workers.Campaign(folder, given.seed, given.workers, given.submissions, given.readers)
        command = f"make kills-workers KILLS={given.kills} SEED={given.seed} WORKERS={given.workers}"
    summary = campaign.run(given.kills)
    faults = campaign.record.faults
    show(summary, faults)
    return conclude(summary, faults, given.save, (command, ("granian", "uvloop")), folder)


if __name__ == "__main__":
    sys.exit(main())
