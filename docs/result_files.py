"""The files in benches/results, and the parts of tables that are the same for all of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "benches" / "results"


def load(name: str) -> dict[str, Any]:
    """Return a result file. Raises FileNotFoundError."""
    report: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return report


def load_if_measured(name: str) -> dict[str, Any]:
    """Return a result file; empty if it does not exist."""
    return load(name) if (RESULTS / name).exists() else {}


def origin(report: Mapping[str, Any]) -> str:
    """Return commit, date, profile and machine of a result."""
    machine = report["machine"]
    changed = " with local changes" if report["dirty"] else ""
    made = f"Commit `{report['commit'][:7]}`{changed}, {report['date'][:10]}"
    profile = f", profile `{report['profile']}`" if "profile" in report else ""
    return f"{made}{profile}, {machine['processor']} with {machine['cores']} cores:"


def missing(name: str) -> str:
    """Return the text in the place of a table without its file."""
    return f"Not measured: `benches/results/{name}` does not exist."


def row(*cells: str) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def headings(*cells: str) -> list[str]:
    """Return the first two lines of a table."""
    return [row(*cells), f"|{'---|' * len(cells)}"]
