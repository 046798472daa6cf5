"""Findings of the rules in one file."""

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from language.rules import MAX_WIDTH, find_opening, find_words
from language.sources import Line, markdown_prose, python_prose, rust_prose

READERS: dict[str, Callable[[str], Iterator[Line]]] = {
    ".rs": rust_prose,
    ".py": python_prose,
    ".md": markdown_prose,
}
"""Reader of the prose of a file, by the ending of its name."""

# Copies of other projects, and the lists and examples of this check.
_EXCLUDED = ("rust_core/store/vendor/", "tests/support/language/", "tests/unit/language/")


class Finding(NamedTuple):
    """A line that breaks a rule."""

    path: str
    line: int
    message: str


def is_checked(path: str) -> bool:
    """Return True if the rules apply to a file of the repository."""
    return PurePosixPath(path).suffix in READERS and not path.startswith(_EXCLUDED)


def check(path: str, source: str) -> Iterator[Finding]:
    """Yield what breaks the rules in a file."""
    suffix = PurePosixPath(path).suffix
    for line in READERS[suffix](source):
        opening = find_opening(line.text) if line.is_first else None
        if opening is not None:
            yield Finding(path, line.number, f'opens with "{opening}": begin with a verb or a noun phrase')
        for word in find_words(line.text):
            yield Finding(path, line.number, f'"{word}": use the term of the field')
        if suffix == ".md" and len(line.text) > MAX_WIDTH and not line.text.startswith(("|", "[")):
            yield Finding(path, line.number, f"longer than {MAX_WIDTH} columns")
