"""A copy of the Rust workspace with the switches of `rust_patches.toml`, so that the product has none."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutants.changes import Change, changed_text
from repository import ROOT

COPY = ROOT / "target" / "mutants"
WORKSPACE = ("Cargo.toml", "Cargo.lock", "rust_core", "benches", "fuzz")
SWITCH = re.compile(r'\bmutant\(\s*"([^"]+)"\s*\)')
# Imports may follow the items that use them.
IMPORT = "\nuse foreseal_primitives::mutant;\n"
READER_FILE = "rust_core/primitives/src/lib.rs"
READER = """
/// Returns `true` if the environment variable `FORESEAL_MUTANT` names this switch.
pub fn mutant(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("FORESEAL_MUTANT").ok()).as_deref() == Some(name)
}
"""


@dataclass(frozen=True)
class Patch:
    """The changes that insert the switches of one file."""

    file: str
    """Path from the root of the repository."""
    changes: tuple[Change, ...]

    def switches(self) -> set[str]:
        """Return the names of the switches that the patch inserts."""
        return {name for _, new in self.changes for name in SWITCH.findall(new)}

    def patched(self) -> str:
        """Return the file with its switches. Exit if the file does not match the patch."""
        return changed_text(ROOT / self.file, self.changes) + IMPORT


def load_patches() -> list[Patch]:
    """Read the patches."""
    entries = tomllib.loads(Path(__file__).with_name("rust_patches.toml").read_text())["patch"]
    return [Patch(f"rust_core/{entry['file']}", tuple(map(tuple, entry["changes"]))) for entry in entries]


def update_copy() -> None:
    """Bring the copy up to date. Files that need no change keep their time, so that the next build is incremental."""
    sources = {path: (ROOT / path).read_bytes() for path in list_sources()}
    sources[READER_FILE] += READER.encode()
    sources |= {patch.file: patch.patched().encode() for patch in load_patches()}
    for path, content in sources.items():
        target = COPY / path
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for folder in WORKSPACE:
        for old in (COPY / folder).rglob("*"):
            if old.is_file() and str(old.relative_to(COPY)) not in sources:
                old.unlink()


def list_sources() -> list[str]:
    """Return the files of the workspace, tracked or new, relative to the repository. Exit without git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *WORKSPACE]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        sys.exit(f"mutants: git must list the sources, in a clone of the repository: {error}")
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
