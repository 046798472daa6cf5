"""The long form of the comparisons, with their results in a file: `make differential`."""

import sys

from campaign_cli import conclude, options, show
from differential.anvil_comparison import compare_with_anvil
from differential.comparison import Comparison


def beside_specification(seed: int, transactions: int) -> Comparison:
    """Run `compare_with_specification`, which is not available for every Python version."""
    from differential.specification import compare_with_specification

    return compare_with_specification(seed, transactions)


PEERS = {
    "specification": (beside_specification, ("ethereum-execution",)),
    # package.json pins its version.
    "anvil": (compare_with_anvil, ()),
}
"""Peers of Foreseal: comparison function, and the packages whose versions matter."""


def main() -> int:
    """Run it and return 0 if the nodes agree."""
    parser = options("differential")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--transactions", type=int, required=True)
    given = parser.parse_args()
    compare, packages = PEERS[given.peer]
    found = compare(given.seed, given.transactions)
    show(found, found.faults)
    command = f"python -m differential {given.peer} --transactions {given.transactions} --seed {given.seed}"
    return conclude(found, found.faults, given.save, (command, packages))


if __name__ == "__main__":
    sys.exit(main())
