"""The long form of the comparisons, and what they found as a file: `make differential`."""

import argparse
import sys
from pathlib import Path

from benches.origin import origin, save

from differential.beside_anvil import compare_with_anvil
from differential.comparison import Comparison


def beside_specification(seed: int, transactions: int) -> Comparison:
    """As `compare_with_specification`, which is not to be had for every Python."""
    from differential.specification import compare_with_specification

    return compare_with_specification(seed, transactions)


PEERS = {
    "specification": (beside_specification, ("ethereum-execution",)),
    # Its version is pinned in package.json.
    "anvil": (compare_with_anvil, ()),
}
"""What Foreseal is compared with: how, and the packages whose versions matter."""


def main() -> int:
    """Run it; 0 if the nodes agree."""
    parser = argparse.ArgumentParser(prog="python -m differential")
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--transactions", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for the comparison and where it comes from, JSON")
    arguments = parser.parse_args()
    compare, packages = PEERS[arguments.peer]
    found = compare(arguments.seed, arguments.transactions)
    print(found)
    for fault in found.faults[:50]:
        print(fault)
    if arguments.save is not None:
        given = f"{arguments.peer} --transactions {arguments.transactions} --seed {arguments.seed}"
        report = {
            **origin(f"python -m differential {given}", packages),
            "summary": str(found),
            "figures": vars(found),
        }
        save(report, arguments.save)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
