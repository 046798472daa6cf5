"""Command line, bounds and result file of the measurements of pages."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benches.explorer.page_timing import PageTiming
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

PACKAGES = ("playwright",)
BOUNDS = {"kilobytes": 150, "first_paint_ms": 500}
"""Largest figures of a page: compressed size of its first view, and first paint."""
RUNS = 5


def parse_options(description: str | None, pictures: str) -> argparse.Namespace:
    """Parse the options; `pictures` is the folder for pictures, as the help names it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=RUNS, help="views of each page")
    parser.add_argument("--pictures", action="store_true", help=f"save pictures in {pictures}")
    parser.add_argument("--save", type=Path, help="file for the figures")
    return parser.parse_args()


def measure_page(name: str, runs: int, view_once: Callable[[], PageTiming]) -> dict[str, Any]:
    """Return and print the median figures of several views of a page."""
    reports = [view_once().report() for _ in range(runs)]
    figures = {"page": name} | {figure: median(report[figure] for report in reports) for figure in reports[0]}
    print(", ".join(f"{figure} {value}" for figure, value in figures.items()), flush=True)
    return figures


def conclude(pages: Sequence[dict[str, Any]], command: str, file: Path | None) -> int:
    """Save the figures if a file is given, and return 1 if a page exceeds a bound."""
    if file:
        save(read_provenance(command, PACKAGES) | {"bounds": BOUNDS, "pages": list(pages)}, file)
    exceeded = [page["page"] for page in pages if any(page[name] > bound for name, bound in BOUNDS.items())]
    if exceeded:
        print(f"beyond a bound: {', '.join(exceeded)}", file=sys.stderr)
    return 1 if exceeded else 0
