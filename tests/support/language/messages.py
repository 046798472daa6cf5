"""Texts in string literals that people read: error messages, help texts, log lines, metric HELP lines, descriptions.

A literal counts if it has a space: names, codes and formats have none.
"""

import ast
import re
from collections.abc import Iterator

from language.sources import RUST, Line, docstrings

_RUST_TESTS = "#[cfg(test)]\nmod tests"
_LINE_BREAK = re.compile(r"\\\n\s*")


def python_messages(source: str) -> Iterator[Line]:
    """Yield the string literals outside docstrings; an f-string is one text without its values."""
    tree = ast.parse(source)
    skipped = {id(text) for text in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node))
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield from _lines(node.lineno, text)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield from _lines(node.lineno, node.value)


def rust_messages(source: str) -> Iterator[Line]:
    """Yield the string literals outside the tests of a Rust file."""
    end = source.find(_RUST_TESTS)
    for match in RUST.finditer(source, 0, len(source) if end < 0 else end):
        if match["string"]:
            number = source.count("\n", 0, match.start()) + 1
            yield from _lines(number, _LINE_BREAK.sub("", match["string"][1:-1]))


def makefile_prose(source: str) -> Iterator[Line]:
    """Yield the help texts behind `##`, and the comments, of a Makefile or of another file with `#` comments."""
    last = -1
    for number, line in enumerate(source.splitlines(), 1):
        help_text, comment = re.search(r":.*## (.*)", line), re.match(r"\s*# (.*)", line)
        if help_text:
            yield Line(number, help_text[1], True)
        elif comment:
            yield Line(number, comment[1], last != number - 1)
            last = number


def _lines(number: int, text: str) -> Iterator[Line]:
    if " " in text.strip():
        yield Line(number, text.strip(), True)
