"""Comments and docstrings of Rust and Python sources, and the prose of Markdown."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

RUST = re.compile(
    r"""(?P<comment>//[^\n]*)|(?P<block>/\*)
    |(?P<raw>\bb?r(?P<hashes>\#*)"(?:.*?)"(?P=hashes))
    |(?P<string>"(?:\\.|[^"\\])*")
    |(?P<character>'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'\n])')""",
    re.DOTALL | re.VERBOSE,
)
_ITEM = re.compile(r"^(?:[*-]|\d+\.|#+) ")
_MARKER = re.compile(r"^(?://[/!]?|/\*[*!]?|\*/?)\s?")


class Line(NamedTuple):
    """A line of prose."""

    number: int
    text: str
    is_first: bool
    """`True` for the first line of a comment, docstring or paragraph."""
    has_code: bool = False
    """`True` if a line of code contains the text between its other tokens."""


def _rust_spans(source: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each comment and literal, with its end."""
    position = 0
    while match := RUST.search(source, position):
        position = _block_end(source, match.end()) if match["block"] else match.end()
        yield match, position


def rust_code(source: str) -> str:
    """Return the source with spaces instead of comments and literals."""
    code = list(source)
    for match, end in _rust_spans(source):
        start = match.start()
        code[start:end] = ("\n" if character == "\n" else " " for character in source[start:end])
    return "".join(code)


def rust_prose(source: str) -> Iterator[Line]:
    """Yield the lines of comments and doc comments."""
    last = -1
    for match, position in _rust_spans(source):
        if not (match["block"] or match["comment"]):
            continue
        number = source.count("\n", 0, match.start()) + 1
        before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
        continues = bool(match["comment"]) and last == number - 1 and not before.strip()
        for offset, text in enumerate(source[match.start() : position].splitlines()):
            yield Line(number + offset, _MARKER.sub("", text.strip()), not continues and not offset)
        last = number if not before.strip() else -1


def _block_end(source: str, position: int) -> int:
    """Return the end of a block comment, which may contain others, from behind its opening on."""
    depth = 1
    while depth and (match := re.compile(r"/\*|\*/").search(source, position)):
        depth += 1 if match[0] == "/*" else -1
        position = match.end()
    return position if depth == 0 else len(source)


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        for statement in getattr(node, "body", None) or () if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            constant = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                yield constant


def python_prose(source: str) -> Iterator[Line]:
    """Yield the lines of docstrings, those of attributes included, and of comments."""
    for constant in docstrings(ast.parse(source)):
        for offset, line in enumerate(str(constant.value).splitlines()):
            yield Line(constant.lineno + offset, line.strip(), not offset)
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            number, stands_alone = token.start[0], not token.line[: token.start[1]].strip()
            yield Line(number, token.string.lstrip("#: "), not (stands_alone and last == number - 1))
            last = number if stands_alone else -1


def markdown_prose(source: str) -> Iterator[Line]:
    """Yield the lines outside code blocks and generated parts."""
    is_code = is_generated = False
    before = ""
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if text.startswith("```"):
            is_code = not is_code
        elif text.startswith("<!--"):
            is_generated = text != "<!-- end -->"
        elif not (is_code or is_generated):
            begun = _ITEM.sub("", text)
            yield Line(number, begun, not before or begun != text)
        before = text
