"""The long form. `make hour` saves its result."""

import os
import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from foreseal.server.sockets.listening import NATIVE, TRANSPORTS
from soak.campaign import Campaign
from soak.load import Rates


def main() -> int:
    """Run it and return 0 if memory, descriptors and threads stay flat after the first quarter."""
    parser = options("soak")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between two samples")
    parser.add_argument("--transport", choices=TRANSPORTS, default=NATIVE)
    parser.add_argument("--submissions", type=float, default=Rates.submissions, help="transactions a second")
    parser.add_argument("--reads", type=float, default=Rates.reads, help="reads a second")
    parser.add_argument(
        "--option", action="append", default=[], help="option of `foreseal dev`, as --option=--step=50ms"
    )
    given = parser.parse_args()
    # The run may share the machine with other work.
    os.nice(5)
    rates = Rates(submissions=given.submissions, reads=given.reads)
    with tempfile.TemporaryDirectory(prefix="foreseal-soak-") as folder:
        campaign = Campaign(Path(folder), given.transport, given.seed, rates, *given.option)
        summary = campaign.run(60 * given.minutes, given.interval, lambda sample: print(sample, flush=True))
    show(summary, summary.faults)
    command = f"python -m soak --minutes {given.minutes:g} --transport {given.transport} --seed {given.seed}"
    return conclude(summary, summary.faults, given.save, (" ".join([command, *given.option]), ()))


if __name__ == "__main__":
    sys.exit(main())
