"""Findings of the rules in one file, and in the names of all files."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from architecture.layers import CRATES
from language.bindings import binding_names
from language.messages import makefile_prose, python_messages, rust_messages
from language.names import Name, banned_words, by_layer, local_names, python_names, rust_names, shared_names
from language.rules import MAX_WIDTH, find_message_opening, find_opening, find_words
from language.scripts import css_prose, script_prose, solidity_prose
from language.sources import Line, markdown_prose, python_prose, rust_prose

Reader = Callable[[str], Iterator[Line]]

READERS: dict[str, Reader] = {
    ".rs": rust_prose,
    ".py": python_prose,
    ".sol": solidity_prose,
    ".js": script_prose,
    ".mjs": script_prose,
    ".ts": script_prose,
    ".css": css_prose,
    ".md": markdown_prose,
    ".toml": makefile_prose,
    ".in": makefile_prose,
    ".yml": makefile_prose,
    "Makefile": makefile_prose,
    "run": makefile_prose,
}
"""Reader of the prose of a file, by the ending of its name, or by its name if it has no ending."""

MESSAGE_READERS: dict[str, Reader] = {".rs": rust_messages, ".py": python_messages}
"""Reader of the texts in string literals of a source file of the product, by the ending of its name."""

# Lines that are wrapped at MAX_WIDTH; ruff measures those of Python.
_WRAPPED = (".md", ".rs", ".sol", ".js", ".mjs", ".ts", ".css")

# The lists and examples of this check.
_EXCLUDED = ("tests/support/language/", "tests/unit/language/")


class Finding(NamedTuple):
    """A line that breaks a rule."""

    path: str
    line: int
    message: str


def kind_of(path: str) -> str:
    """Return the ending of a file's name, or its name if it has no ending."""
    name = PurePosixPath(path)
    return name.suffix or name.name


def is_checked(path: str) -> bool:
    """Return True if the rules apply to a file of the repository."""
    return kind_of(path) in READERS and not path.startswith(_EXCLUDED)


def check(path: str, source: str) -> Iterator[Finding]:
    """Yield what breaks the rules in a file."""
    kind = kind_of(path)
    wide = {number for number, line in enumerate(source.splitlines(), 1) if len(line) > MAX_WIDTH}
    for line in READERS[kind](source):
        opening = find_opening(line.text) if line.is_first else None
        yield from _findings(path, line, opening)
        is_prose = not (line.has_code or line.text.startswith(("|", "[")))
        if kind in _WRAPPED and line.number in wide and is_prose:
            wide.remove(line.number)
            yield Finding(path, line.number, f"longer than {MAX_WIDTH} columns")
    if kind in MESSAGE_READERS and is_product(path):
        for line in MESSAGE_READERS[kind](source):
            yield from _findings(path, line, find_message_opening(line.text))


def _findings(path: str, line: Line, opening: str | None) -> Iterator[Finding]:
    if opening is not None:
        yield Finding(path, line.number, f'opens with "{opening}": begin with a verb or a noun phrase')
    for word in find_words(line.text):
        yield Finding(path, line.number, f'"{word}": use the term of the field')


_TESTS = ("/tests/", "tests.rs", "rust_core/testing/")


def is_product(path: str) -> bool:
    """Return True for a source file of the product; tests have long names that state condition and result."""
    return path.startswith(("rust_core/", "python/")) and not any(mark in path for mark in _TESTS)


def check_names(files: Mapping[str, str]) -> Iterator[Finding]:
    """Yield banned names, and types that share a name within one layer. In tests only names of bindings are banned."""
    for path, source in files.items():
        for line, text in sorted({*local_names(path, source), *binding_names(path, source)}):
            yield Finding(path, line, f"the name {text}: use the noun of its type")
    product = {path: source for path, source in files.items() if is_product(path)}
    rust = {path: source for path, source in product.items() if path.endswith(".rs")}
    for path, source in product.items():
        names: Iterator[Name] = iter(())
        if path in rust:
            names = rust_names(source)
        elif path.endswith(".py"):
            names = python_names(source)
        for name in names:
            for word in banned_words(name.text):
                yield Finding(path, name.line, f'the name {name.text} has "{word}": use the term of the field')
    for path, name, other in shared_names(by_layer(CRATES, rust)):
        yield Finding(path, name.line, f"{name.text} is also a type in {other}: rename one of them")
