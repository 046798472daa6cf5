"""Read the imports between the modules of the Python package."""

import ast
from collections.abc import Iterator
from pathlib import Path


def module_files(base: Path) -> dict[str, Path]:
    """Return the file of each module below `base/foreseal`."""
    names = {}
    for path in (base / "foreseal").rglob("*.py"):
        parts = list(path.relative_to(base).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def _runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes, without what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _runtime_nodes(node)


def _imports(path: Path, known: set[str]) -> Iterator[str]:
    for node in _runtime_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def import_graph(base: Path) -> dict[str, tuple[Path, set[str]]]:
    """Return the file of each module below `base/foreseal` and the modules that it imports, also inside functions."""
    files = module_files(base)
    known = set(files)
    return {name: (path, set(_imports(path, known)) & known - {name}) for name, path in files.items()}
