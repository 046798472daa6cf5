"""Changes of source files by which mutants are made."""

import sys
from collections.abc import Sequence
from pathlib import Path

Change = tuple[str, str]
"""A text that occurs in a file once, and its replacement."""


def changed_text(path: Path, changes: Sequence[Change]) -> str:
    """Return the content of a file with the changes. Exit unless each text occurs in it exactly once."""
    content = path.read_text()
    for old, new in changes:
        if content.count(old) != 1:
            sys.exit(f"mutants: {path} must contain this text once, not {content.count(old)} times:\n{old}")
        content = content.replace(old, new)
    return content
