"""The Python packages: no cycle between subpackages, and unique type names."""

import ast
import re
from collections import defaultdict

import pytest

from repository import ROOT

PACKAGE = ROOT / "python" / "foreseal"
# Generated from the OpenAPI document: the same types under the same names as in the service.
DOCUMENT_TYPES = {
    "foreseal.merchant.administration",
    "foreseal.merchant.types",
    "foreseal.merchant.health",
    "foreseal.merchant.values",
}


def trees() -> dict[str, ast.Module]:
    """Return the parsed modules by dotted name."""
    modules = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text())
    return modules


def imported(tree: ast.Module) -> set[str]:
    """Return the names of what a module imports, one for each name of `from x import y`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("package", ["foreseal.server", "foreseal.payments", "foreseal.payments.x402"])
def test_subpackages_import_in_no_cycle(package: str) -> None:
    depth = package.count(".") + 2
    graph: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees().items():
        unit = ".".join(name.split(".")[:depth])
        if name.startswith(f"{package}."):
            targets = {".".join(target.split(".")[:depth]) for target in imported(tree)}
            graph[unit] |= {target for target in targets if target.startswith(f"{package}.") and target != unit}
    assert len(graph) > 4
    done: set[str] = set()

    def visit(unit: str, path: tuple[str, ...]) -> None:
        assert unit not in path, " -> ".join((*path[path.index(unit) :], unit))
        if unit not in done:
            for target in sorted(graph.get(unit, ())):
                visit(target, (*path, unit))
            done.add(unit)

    for unit in sorted(graph):
        visit(unit, ())


def type_names(tree: ast.Module) -> list[str]:
    """Return the public classes and type aliases of a module, without type variables."""
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            is_variable = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ("TypeVar", "ParamSpec")
            name = node.targets[0].id
            if re.fullmatch(r"[A-Z][a-z]\w*", name) and not is_variable:
                names.append(name)
    return [name for name in names if not name.startswith("_")]


def test_each_type_name_occurs_once() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for module, tree in trees().items():
        for name in type_names(tree) if module not in DOCUMENT_TYPES else ():
            modules[name].append(module)
    assert len(modules) > 300
    assert not {name: origins for name, origins in modules.items() if len(origins) > 1}
