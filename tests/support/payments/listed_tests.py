"""Existence checks for tests that a list names."""

import ast
from functools import cache
from pathlib import Path

from repository import TESTS


def exists(test: str) -> bool:
    """Return True if a test exists, `file::name` below `tests`; brackets after the name are ignored."""
    file, _, name = test.partition("::")
    return name.partition("[")[0] in _names(TESTS / file)


@cache
def _names(path: Path) -> set[str]:
    module = ast.parse(path.read_text())
    return {node.name for node in module.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
