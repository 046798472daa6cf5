"""The long form: every bit of a receipt of every step. `make promises` saves its result."""

import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from promises.campaign import Campaign, timed


def main() -> int:
    """Run it and return 0 if every pre-confirmation was valid and no flipped one was."""
    parser = options("promises")
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreseal-promises-") as folder:
        campaign = Campaign(Path(folder), given.seed, every_bit=True)
        summary, seconds = timed(lambda: campaign.run(given.steps))
    show(f"{summary}; {seconds:.0f} s", summary.faults)
    return conclude(summary, summary.faults, given.save, (f"make promises STEPS={given.steps} SEED={given.seed}", ()))


if __name__ == "__main__":
    sys.exit(main())
