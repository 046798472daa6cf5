"""The long form of the comparisons, with their results in a file: `make differential`."""

import sys

from campaign_cli import conclude, options, show
from differential import geth
from differential.anvil_comparison import compare_with_anvil
from differential.comparison import Comparison
from differential.development_comparison import compare_development_with_anvil, compare_development_with_hardhat
from differential.geth_comparison import compare_calls, compare_traces


def beside_specification(seed: int, transactions: int) -> Comparison:
    """Run `compare_with_specification`, which is not available for every Python version."""
    from differential.specification import compare_with_specification

    return compare_with_specification(seed, transactions)


PEERS = {
    "specification": (beside_specification, ("ethereum-execution",)),
    # package.json and go.mod pin the versions of the others.
    "anvil": (compare_with_anvil, ()),
    "anvil-development": (compare_development_with_anvil, ()),
    "hardhat-development": (compare_development_with_hardhat, ()),
    "geth-calls": (compare_calls, ()),
    "geth-traces": (compare_traces, ()),
}
"""Peers of Foreseal: comparison function, and the packages whose versions matter."""


def main() -> int:
    """Run it and return 0 if the nodes agree."""
    parser = options("differential")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--count", type=int, required=True, help="transactions, requests to geth, or operations")
    given = parser.parse_args()
    compare, packages = PEERS[given.peer]
    if compare in (compare_calls, compare_traces):
        geth.build()
    comparison = compare(given.seed, given.count)
    show(comparison, comparison.faults)
    command = f"python -m differential {given.peer} --count {given.count} --seed {given.seed}"
    return conclude(comparison, comparison.faults, given.save, (command, packages))


if __name__ == "__main__":
    sys.exit(main())
