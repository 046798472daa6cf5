"""The long forms of the campaigns, with their results in files: `make optimism-equal`, `make optimism-kills`."""

import shutil
import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from optimism import Fork
from optimism_chain.equal_campaign import EqualCampaign

# Processes and newest fork of each run.
RUNS = ((0, Fork.JOVIAN), (2, Fork.KARST))


def main() -> int:
    """Run one campaign and return 0 if it found nothing wrong."""
    parser = options("optimism_chain")
    parser.add_argument("campaign", choices=["equal"])
    parser.add_argument("--blocks", type=int, default=60, help="sealed blocks of each run")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="foreseal-optimism-"))
    found, faults = [], []
    for workers, fork in RUNS:
        campaign = EqualCampaign(folder / f"{fork}-{workers}", given.seed, workers, fork)
        found.append(campaign.run(given.blocks))
        show(found[-1], campaign.faults)
        faults += campaign.faults
    command = f"make optimism-equal BLOCKS={given.blocks} SEED={given.seed}"
    code = conclude(found, faults, given.save, (command, ("websockets",)))
    if code:
        print(f"the data directories are kept: {folder}")
    else:
        shutil.rmtree(folder)
    return code


if __name__ == "__main__":
    sys.exit(main())
