"""Names of types and functions: banned words, and types that share a name within one layer."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from language.sources import rust_code

WHOLE_NAMES = (
    *("way", "door", "turn", "word", "place", "part", "parts", "thing", "piece", "pieces"),
    *("of", "take", "takes", "taken", "keep", "keeps", "give", "gives", "given", "look", "looks", "known", "hand"),
)
"""Words that are fine in sentences, but are not the whole name of a type, function or constant."""

INSIDE_NAMES = (
    *("lately", "beside", "somebody", "nobody", "whoever", "whatever", "mended", "kept"),
    *("tell", "tells", "told", "say", "says", "said", "ask", "asks", "asked", "most", "least"),
)
"""Words that no name contains; of these, `rules.WORDS` lists those that sentences do not contain either."""

LOCAL_NAMES = ("surroundings", "makes", "ground", "laps")
"""Names that not even a variable, parameter or field has: the noun of its type is the name."""

_LOCAL_NAME = re.compile(rf"\b(?:{'|'.join(LOCAL_NAMES)})\b", re.IGNORECASE)
_RUST_TESTS = "#[cfg(test)]\nmod tests"
_RUST_ITEM = re.compile(
    r"^[ ]*(?:pub(?:\([a-z ]+\))? )?(?:const |async |unsafe )*(struct|enum|trait|type|union|fn|const|static) (\w+)",
    re.MULTILINE,
)
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_TYPES = {"struct", "enum", "trait", "type", "union", "class"}


class Name(NamedTuple):
    """A name that a file defines."""

    line: int
    kind: str
    """Keyword of the definition: `struct`, `fn`, `class`, ..."""
    text: str
    is_top_level: bool

    @property
    def is_type(self) -> bool:
        """True for a type."""
        return self.kind in _TYPES


def rust_names(source: str) -> Iterator[Name]:
    """Yield the items of a Rust file outside its tests."""
    end = source.find(_RUST_TESTS)
    for match in _RUST_ITEM.finditer(source, 0, len(source) if end < 0 else end):
        yield Name(source.count("\n", 0, match.start(2)) + 1, match[1], match[2], not match[0].startswith(" "))


def python_names(source: str) -> Iterator[Name]:
    """Yield the classes, functions and constants of a Python file."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "class" if isinstance(node, ast.ClassDef) else "def"
            yield Name(node.lineno, kind, node.name, node in tree.body)
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _constants(node)


def local_names(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each identifier of LOCAL_NAMES in a file of Rust or Python, in any case."""
    if path.endswith(".rs"):
        code = rust_code(source) if _LOCAL_NAME.search(source) else ""
        for match in _LOCAL_NAME.finditer(code):
            yield code.count("\n", 0, match.start()) + 1, match[0]
    elif path.endswith(".py") and _LOCAL_NAME.search(source):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and _LOCAL_NAME.fullmatch(token.string):
                yield token.start[0], token.string


def _constants(scope: ast.Module | ast.ClassDef) -> Iterator[Name]:
    """Yield the constants of a module or class: names in upper case."""
    for statement in scope.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name) and each.id.isupper():
                    yield Name(each.lineno, "const", each.id, isinstance(scope, ast.Module))


def banned_words(name: str) -> list[str]:
    """Return the words of a name that a standard term must replace."""
    words = [word.lower() for word in _PARTS.findall(name)]
    matches = [word for word in words if word in INSIDE_NAMES]
    return matches or [word for word in words if len(words) == 1 and word in WHOLE_NAMES]


def shared_names(types: Mapping[str, list[tuple[str, Name]]]) -> Iterator[tuple[str, Name, str]]:
    """Yield path, name and first path of each type whose name its layer has already. `types` are by layer."""
    for named in types.values():
        first: dict[str, str] = {}
        for path, name in named:
            if name.text in first:
                yield path, name, first[name.text]
            first.setdefault(name.text, path)


def by_layer(layers: Mapping[str, int], files: Mapping[str, str]) -> dict[str, list[tuple[str, Name]]]:
    """Return the top-level types of Rust files by layer of their crate. `layers` are those of the crates."""
    types: defaultdict[str, list[tuple[str, Name]]] = defaultdict(list)
    for path, source in files.items():
        crate = path.split("/")[1]
        for name in rust_names(source) if crate in layers else ():
            if name.is_type and name.is_top_level:
                types[f"layer {layers[crate]}"].append((path, name))
    return types
