"""Builds the published wheel and the source distribution, installs them without Rust, and measures: `make wheel`."""

import argparse
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from benches.result_file import save

from distribution.build import build_from, build_sdist, build_wheel
from distribution.clean import CleanEnvironment
from distribution.walkthrough import EXAMPLES, PAGES, Walkthrough
from foreseal.bench.provenance import read_provenance
from repository import ROOT

# Milliseconds of a module's import, in a new process.
IMPORT = "import time; began = time.perf_counter(); import {module}; print((time.perf_counter() - began) * 1000)"
MODULES = ("foreseal", "foreseal._core", "foreseal.codec", "foreseal.client", "foreseal.server", "foreseal.testing")
REPEATED = 15


def main() -> int:
    """Build and measure; the distributions remain in `--out`."""
    parser = argparse.ArgumentParser(prog="python -m distribution")
    parser.add_argument("--out", type=Path, default=Path("dist"))
    parser.add_argument("--sdist", action="store_true", help="build a wheel from the source distribution too")
    parser.add_argument("--save", type=Path, help="file for the figures and where they come from, JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreseal-wheel-") as folder:
        figures = make(Path(folder), arguments.out, from_sdist=arguments.sdist)
    for name, figure in figures.items():
        print(f"{name}: {figure}")
    if arguments.save is not None:
        save({**read_provenance("make wheel", ()), "figures": figures}, arguments.save)
    return 0


def make(folder: Path, out: Path, *, from_sdist: bool) -> dict[str, object]:
    """Build both distributions in `out` and return their measurements."""
    out.mkdir(exist_ok=True)
    sdist, wheel = build_sdist(folder / "sdist"), build_wheel("dist", folder / "wheel")
    figures = examine(wheel, folder / "clean")
    if from_sdist:
        built = build_from(sdist, folder / "built")
        figures["from the source distribution"] = examine(built, folder / "clean-built")
    figures["walk"] = follow_pages(wheel, folder / "walk")
    for made in (sdist, wheel):
        shutil.copy(made, out / made.name)
    return {"source distribution": described(sdist), **figures}


def examine(wheel: Path, folder: Path) -> dict[str, object]:
    """Install `wheel` without Rust, and measure imports."""
    clean = CleanEnvironment(folder)
    clean.install(f"foreseal[client] @ {wheel.as_uri()}")
    imports = {}
    for module in MODULES:
        times = [float(clean.python(IMPORT.format(module=module))) for _ in range(REPEATED)]
        imports[module] = {"median ms": round(median(times), 1), "most ms": round(max(times), 1)}
    version = clean.run([clean.command, "--version"]).strip()
    return {"wheel": described(wheel), "version": version, "imports": imports}


def follow_pages(wheel: Path, folder: Path) -> dict[str, object]:
    """Follow README, guide and the pages with examples like a new user, and count the commands."""
    taken = {}
    with Walkthrough(folder, wheel) as user:
        for page in (*PAGES, *EXAMPLES):
            before = len(user.taken)
            user.follow(ROOT / page, examples=True)
            taken[page] = len(user.taken) - before
    return {"commands": taken, "rust on the path": False}


def described(made: Path) -> dict[str, object]:
    """Return name, size and digest of a distribution."""
    content = made.read_bytes()
    return {"name": made.name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


if __name__ == "__main__":
    sys.exit(main())
