"""Print files, lines, modules and cycles of each crate and each Python package; exit with 1 if there is a cycle."""

import argparse
import sys

from architecture.inventory import measure


def main() -> int:
    """Print the table; with `--edges`, also the imports inside each cycle."""
    parser = argparse.ArgumentParser(prog="architecture", description=__doc__)
    parser.add_argument("--edges", action="store_true", help="Print the imports inside each cycle.")
    edges = parser.parse_args().edges
    units = measure()
    print(f"{'crate or package':24}{'files':>8}{'lines':>8}{'modules':>9}{'cycles':>8}")
    for unit in units:
        print(f"{unit.name:24}{unit.files:>8}{unit.lines:>8}{len(unit.graph):>9}{len(unit.cycles):>8}")
    for unit in units:
        for members in unit.cycles:
            print(f"cycle in {unit.name}: {', '.join(members)}")
            for member in members if edges else ():
                print(f"    {member} -> {', '.join(sorted(unit.graph[member] & set(members)))}")
    return any(unit.cycles for unit in units)


sys.exit(main())
