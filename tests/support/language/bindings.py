"""Variables, parameters and fields whose name does not say what they hold."""

import ast
import re
from collections.abc import Iterator

from language.names import LOCAL_NAMES
from language.sources import rust_code

BINDING_NAMES = (*LOCAL_NAMES, "past", "gone", "found")
"""Names that no variable, parameter or field of Python and no variable or parameter of Rust has.

A pattern of Rust may have them as fields: the error `OtherGenesis { found, expected }` prints both.
"""

_NAME = re.compile(rf"\b(?:{'|'.join(BINDING_NAMES)})\b")
# A path or a field access before the name, or a call or a path after it, makes it no binding.
_BOUND = re.compile(rf"(?<![\w.:])(?:{'|'.join(BINDING_NAMES)})\b(?!\s*(?:\(|::))")
_CLOSED = re.compile(r"\([^({\[]*?\)|\{[^({\[]*?\}|\[[^({\[]*?\]")

_LET = re.compile(r"\blet\s+([^=;]*)")
_FOR = re.compile(r"\bfor\s+([^{};]*?)\s+in\b")
_CLOSURE = re.compile(r"(?:[(,={;&]|=>|\b(?:move|mut|return)|^)\s*\|([^|;]*)\|", re.MULTILINE)
_ARM = re.compile(r"^([^\n]*?)(?:\bif\b[^\n]*)?=>", re.MULTILINE)
_FUNCTION = re.compile(r"\bfn\s+\w+")


def binding_names(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each binding of BINDING_NAMES in a file of Rust or Python."""
    if not path.endswith((".py", ".rs")) or not _NAME.search(source):
        return
    yield from sorted(_python_bindings(source) if path.endswith(".py") else _rust_bindings(rust_code(source)))


def _python_bindings(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        name = _bound_name(node)
        if name in BINDING_NAMES:
            yield getattr(node, "lineno", 1), name


def _bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds, None for any other node."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.alias(asname=name) | ast.MatchMapping(rest=name):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
    return None


def _rust_bindings(code: str) -> set[tuple[int, str]]:
    """Return the bindings of `let`, `for`, match arms, closures and functions. A pattern in a macro is not read."""
    patterns = [(match.start(1), match[1]) for form in (_LET, _FOR, _ARM, _CLOSURE) for match in form.finditer(code)]
    patterns += [_parameters(code, function.end()) for function in _FUNCTION.finditer(code)]
    return {
        (code.count("\n", 0, start + bound.start()) + 1, bound[0])
        for start, pattern in patterns
        for bound in _BOUND.finditer(pattern)
        if not _is_field(pattern, bound)
    }


def _is_field(pattern: str, bound: re.Match[str]) -> bool:
    """Return True for a field of a struct pattern such as `Other { found }`, False for the pattern of its value."""
    before = pattern[: bound.start()]
    while (inner := _CLOSED.sub("", before)) != before:
        before = inner
    opening = max(before.rfind(bracket) for bracket in "({[")
    entry = before[opening + 1 :].rpartition(",")[2]
    return opening >= 0 and before[opening] == "{" and ":" not in entry


def _parameters(code: str, start: int) -> tuple[int, str]:
    """Return the parameters of a function whose name ends at `start`, with their position; its generics come first."""
    begin = code.find("(", start)
    depth = 0
    for position in range(begin, len(code)) if begin >= 0 else ():
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return begin, code[begin:position]
    return start, ""
