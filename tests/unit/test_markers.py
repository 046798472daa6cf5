"""Markers of tests by what they need."""

import ast
from functools import cache
from pathlib import Path

import pytest

from markers import BY_PATH, NIGHTLY, ON_POSTGRESQL
from repository import ROOT

TESTS = ROOT / "tests"
SEARCH_PATH = (TESTS / "support", TESTS / "campaigns")
# Modules behind which is a program that a marker names.
PROGRAMS = {"npm": "npm", "live.proxies": "proxy"}


@cache
def find(module: str) -> Path | None:
    """Return the file of a module of the tests; None for a module from elsewhere."""
    for folder in SEARCH_PATH:
        path = folder.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file
    return None


@cache
def imports(file: Path) -> frozenset[str]:
    """Return the modules of the tests that a file itself imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(name for name in names if find(name) is not None)


def all_imports(file: Path) -> set[str]:
    """Return the modules of the tests that a file imports, directly or through others."""
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        for name in imports(waiting.pop()) - seen:
            seen.add(name)
            module = find(name)
            assert module is not None
            waiting.append(module)
    return seen


@pytest.mark.parametrize("module", PROGRAMS)
def test_every_test_with_a_program_is_marked(module: str) -> None:
    marker = PROGRAMS[module]
    marked = [TESTS / path for path, names in BY_PATH.items() if marker in names]
    # Unit tests start no program.
    files = [
        file
        for file in TESTS.rglob("test_*.py")
        if not file.is_relative_to(TESTS / "unit") and module in all_imports(file)
    ]
    assert files
    unmarked = [file for file in files if not any(file.is_relative_to(path) for path in marked)]
    assert not unmarked, "add them to BY_PATH in tests/support/markers.py"


def test_every_marked_path_exists() -> None:
    assert not [path for path in (*BY_PATH, *NIGHTLY, *ON_POSTGRESQL) if not (TESTS / path).exists()]
