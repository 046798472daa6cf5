"""The long form: a day of 43,200 blocks. `make day` saves its result."""

import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from day.campaign import Campaign


def main() -> int:
    """Run it and return 0 if nothing grew unexpectedly and the store is consistent."""
    parser = options("day")
    parser.add_argument("--blocks", type=int, default=43_200)
    parser.add_argument("--speed", type=int, default=50, help="how many times as fast as life")
    parser.add_argument("--pause", type=float, default=0.03, help="seconds between two requests of a user")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreseal-day-") as folder:
        summary = Campaign(Path(folder), given.seed, given.speed, given.pause).run(given.blocks)
    show(summary, summary.faults)
    return conclude(summary, summary.faults, given.save, (f"make day DAY={given.blocks} SEED={given.seed}", ()))


if __name__ == "__main__":
    sys.exit(main())
