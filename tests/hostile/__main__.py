"""The long form: a million malformed requests and ten thousand held connections. `make hostile` saves its result."""

import argparse
import dataclasses
import sys
from pathlib import Path

from benches.origin import origin, save

from hostile.campaign import Campaign
from live import live_node


def main() -> int:
    """Run it; 0 if the node stood."""
    parser = argparse.ArgumentParser(prog="python -m hostile")
    parser.add_argument("--malformed", type=int, default=1_000_000)
    parser.add_argument("--held", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=0, help="malformed requests a second; 0 for all that can be sent")
    parser.add_argument("--calm", type=float, default=15, help="seconds without an attack, before and after")
    parser.add_argument("--seconds", type=float, default=40, help="time that connections are held")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for the summary and where it comes from, JSON")
    arguments = parser.parse_args()
    with live_node("--step", "200ms") as node:
        campaign = Campaign(node, [node.process.pid], arguments.seed)
        times = {"rate": arguments.rate, "calm": arguments.calm, "seconds": arguments.seconds}
        summary = campaign.run(arguments.malformed, arguments.held, **times)
    print(summary)
    for fault in summary.faults[:20]:
        print(fault)
    if arguments.save is not None:
        report = {**origin("make hostile", ("granian",)), "summary": str(summary)}
        save({**report, "figures": dataclasses.asdict(summary)}, arguments.save)
    return 1 if summary.faults else 0


if __name__ == "__main__":
    sys.exit(main())
