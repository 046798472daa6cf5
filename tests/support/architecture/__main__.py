"""Print files, lines, modules and cycles of each crate and each Python package; exit with 1 if an import runs up."""

import argparse
import sys

from architecture.inventory import measure


def main() -> int:
    """Print the table; with `--edges`, also the imports inside each cycle of modules."""
    parser = argparse.ArgumentParser(prog="architecture", description=__doc__)
    parser.add_argument("--edges", action="store_true", help="Print the imports inside each cycle of modules.")
    edges = parser.parse_args().edges
    units = measure()
    print(f"{'crate or package':24}{'files':>8}{'lines':>8}{'modules':>9}{'cycles':>8}{'folder cycles':>15}")
    for unit in units:
        counts = f"{unit.files:>8}{unit.lines:>8}{len(unit.graph):>9}{len(unit.cycles):>8}"
        print(f"{unit.name:24}{counts}{len(unit.room_cycles) if unit.is_crate else '-':>15}")
    for unit in units:
        for members in unit.cycles:
            print(f"cycle in {unit.name}: {', '.join(members)}")
            for member in members if edges else ():
                print(f"    {member} -> {', '.join(sorted(unit.graph[member] & set(members)))}")
        for members in unit.room_cycles:
            print(f"folder cycle in {unit.name}: {', '.join(members)}")
        for line in unit.upward_imports:
            print(f"against the order of rooms in {unit.name}: {line}")
    return not all(unit.is_layered for unit in units)


sys.exit(main())
