"""Common options of the long test forms, and output of their results."""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from benches.result_file import save

from foreseal.bench.provenance import read_provenance

T = TypeVar("T", int, float)
# Number of faults that are printed; all of them count.
SHOWN = 50


def options(program: str) -> argparse.ArgumentParser:
    """Return a parser with the common options `--seed` and `--save`."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="file for what was found and where it comes from, JSON")
    return parser


def show(summary: object, faults: Sequence[object]) -> None:
    """Print a summary, and the first faults."""
    print(summary, flush=True)
    for fault in faults[:SHOWN]:
        print(fault, flush=True)


def quantile(times: Sequence[T], part: float) -> T:
    """Return the time that this share of the times does not exceed."""
    ordered = sorted(times)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def conclude(
    figures: Any,
    faults: Sequence[object],
    file: Path | None,
    origins: tuple[str, tuple[str, ...]],
    data: Path | None = None,
) -> int:
    """Save `figures`, a summary dataclass or a list of them, if requested, and return the exit code.

    `origins` is the command that made it, and the packages whose versions matter. `data` is the folder of the
    campaign, which remains only if there are faults.
    """
    if file is not None:
        text = [str(each) for each in figures] if isinstance(figures, list) else str(figures)
        save({**read_provenance(*origins), "summary": text, "figures": figures}, file)
    if data is not None and faults:
        print(f"recordings and data are in {data}")
    elif data is not None:
        shutil.rmtree(data)
    return 1 if faults else 0
