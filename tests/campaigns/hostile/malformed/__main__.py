"""The long form: a million malformed requests and ten thousand held connections. `make hostile` saves its result."""

import sys

from campaign_cli import conclude, options, show
from hostile.malformed.campaign import Campaign
from live import live_node


def main() -> int:
    """Run it and return 0 if the node survived."""
    parser = options("hostile.malformed")
    parser.add_argument("--malformed", type=int, default=1_000_000)
    parser.add_argument("--held", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=0, help="malformed requests a second; 0 for all that can be sent")
    parser.add_argument("--calm", type=float, default=15, help="seconds without an attack, before and after")
    parser.add_argument("--seconds", type=float, default=40, help="time that connections are held")
    given = parser.parse_args()
    with live_node("--step", "200ms") as node:
        campaign = Campaign(node, [node.process.pid], given.seed)
        times = {"rate": given.rate, "calm": given.calm, "seconds": given.seconds}
        summary = campaign.run(given.malformed, given.held, **times)
    show(summary, summary.faults)
    changed = {name: value for name, value in vars(given).items() if value != parser.get_default(name)}
    more = " ".join(f"--{name} {value}" for name, value in changed.items() if name != "save")
    command = f"python -m hostile.malformed {more}".strip()
    return conclude(summary, summary.faults, given.save, (command, ("granian",)))


if __name__ == "__main__":
    sys.exit(main())
