"""The campaign of stock libraries: `python -m libraries`. `make clients` runs all of it."""

import sys
from pathlib import Path

from campaign_cli import conclude, options, show
from foreseal.bench import provenance
from foreseal.bench.provenance import source_state
from libraries.campaign import Outcome, read_outcomes, run
from libraries.chains import CONTROL, ENDPOINTS, MODES
from libraries.library import LIBRARIES
from libraries.plan import FLOWS, Plan

CELLS = (*ENDPOINTS, CONTROL)


def main() -> int:
    """Run the chosen combinations, print the table, and return 0 without faults."""
    parser = options("libraries")
    names = [library.name for library in LIBRARIES]
    parser.add_argument("--libraries", nargs="+", choices=names, default=names)
    parser.add_argument("--endpoints", nargs="+", choices=CELLS, default=CELLS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--flows", nargs="+", choices=FLOWS, default=FLOWS)
    parser.add_argument("--rounds", type=int, default=30, help="Rounds of each script flow.")
    parser.add_argument("--watched-blocks", type=int, default=20, help="Blocks during which events are watched.")
    parser.add_argument("--jobs", type=int, default=2, help="Libraries that run at once.")
    parser.add_argument("--requests", type=Path, help="Folder for logs of all requests over HTTP and their responses.")
    given = parser.parse_args()

    def shown(outcome: Outcome) -> None:
        if not outcome.is_passed:
            print(outcome, flush=True)

    choice = given.endpoints, given.modes, given.flows
    plan = Plan(given.rounds, given.seed, *choice, given.requests, given.watched_blocks)
    report = run(plan, [library for library in LIBRARIES if library.name in given.libraries], shown, given.jobs)
    print(report.table(), flush=True)
    for name, reason in report.skipped.items():
        print(f"skipped {name}: {reason}", flush=True)
    faults = report.faults
    show(report, faults)
    if given.save is not None:
        # A run of some combinations retains the results of the others on the same clean commit.
        commit, is_dirty = source_state(Path(provenance.__file__))
        versions, outcomes = read_outcomes(given.save, None if is_dirty else commit)
        versions |= report.versions
        report.versions = {name: versions[name] for name in names if name in versions}
        merged = {**{outcome.key: outcome for outcome in outcomes}, **{each.key: each for each in report.outcomes}}
        report.outcomes = sorted(merged.values(), key=lambda outcome: names.index(outcome.library))
    origins = (f"make clients ROUNDS={given.rounds} SEED={given.seed}", ("web3", "eth-account"))
    return conclude(report, faults, given.save, origins)


if __name__ == "__main__":
    sys.exit(main())
