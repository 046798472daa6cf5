"""Origin of a figure: machine, versions, commit, command and date."""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from foreseal._core import build_profile


def read_provenance(command: str, packages: Sequence[str]) -> dict[str, Any]:
    """Return all metadata of a result file; `packages` are those whose versions matter.

    An unavailable value, such as the commit outside a clone of Foreseal, is None.
    """
    commit, dirty = source_state(Path(__file__))
    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "dirty": dirty,
        "profile": build_profile(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release()}",
            # Load of other programs: on a busy machine figures are upper bounds, and ratios of threaded work are
            # unreliable.
            "load": round(os.getloadavg()[0], 1),
        },
        "versions": {
            "python": sys.version.split()[0],
            "rustc": _run("rustc", "--version"),
            **{package: version(package) for package in packages},
        },
    }


def source_state(module: Path) -> tuple[str | None, bool | None]:
    """Return the commit that `module` is checked out from, and `True` if the checkout has other changes.

    Both are None where git does not track the module: an installed wheel may lie inside a repository of its user, whose
    commit says nothing about Foreseal.
    """
    here = str(module.parent)
    if _run("git", "-C", here, "ls-files", "--error-unmatch", "--", module.name) is None:
        return None, None
    # Results of earlier runs do not change the measured code.
    changed = _run("git", "-C", here, "status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/benches/results")
    return _run("git", "-C", here, "rev-parse", "HEAD"), None if changed is None else bool(changed)


def save(report: dict[str, object], file: Path) -> None:
    """Write figures and their origin as JSON."""
    file.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _run(*command: str) -> str | None:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
