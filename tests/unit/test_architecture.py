"""The layers: imports and crate dependencies point down only, and files and functions stay below their size limits."""

import ast
import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from architecture.inventory import measure
from architecture.layers import CRATES
from foreseal import _core
from repository import ROOT

# Crates that only tests and benchmarks may use.
TEST_CRATES = {"testkit", "simulated-disk", "simulated-quorum", "simulation", "interleavings", "benches", "fuzz"}

# Modules under python/foreseal by layer; a module may import its own package and lower layers.
PYTHON = {
    "_core": 0,
    "errors": 0,
    "bounded_cache": 1,
    "client": 1,
    "client_disconnect": 1,
    "client_network": 1,
    "codec": 1,
    "etcd_version": 1,
    "pages": 1,
    "ports": 1,
    "preconfirmation": 1,
    "rpc": 1,
    "telemetry": 1,
    "testing": 1,
    "unix_http": 1,
    "bench": 2,
    "merchant": 2,
    "server": 2,
    "top": 2,
    "payments": 3,
    "supervisor": 3,
    "cluster": 4,
    "cli": 5,
    "__main__": 6,
}

LONGEST_FILE = 600
LONGEST_FUNCTION = 70


def crates() -> dict[str, list[tuple[str, bool]]]:
    """Return workspace crates by short name, each with its workspace dependencies, True for test-only ones."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    return {
        package["name"].removeprefix("foreseal-"): [
            (dependency["name"].removeprefix("foreseal-"), dependency["kind"] == "dev")
            for dependency in package["dependencies"]
            if dependency["name"].startswith("foreseal-")
        ]
        for package in json.loads(output)["packages"]
    }


def test_crates_depend_on_lower_layers_only() -> None:
    by_crate = crates()
    assert len(by_crate) >= len(CRATES) - 1, f"only {sorted(by_crate)}"
    assert sum(len(dependencies) for dependencies in by_crate.values()) > 20
    unknown = set(by_crate) - set(CRATES) - TEST_CRATES
    assert not unknown, f"give these crates a layer: {unknown}"
    wrong = [
        f"{crate} -> {dependency}"
        for crate, dependencies in by_crate.items()
        if crate in CRATES
        for dependency, for_tests in dependencies
        if (dependency in TEST_CRATES or CRATES[dependency] >= CRATES[crate]) and not for_tests
    ]
    assert not wrong


def modules() -> dict[str, Path]:
    """Return Python modules of the package by dotted name."""
    base = ROOT / "python"
    names = {}
    for path in (base / "foreseal").rglob("*.py"):
        parts = list(path.relative_to(base).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(path: Path, known: set[str]) -> Iterator[str]:
    """Yield modules of the package that a file imports, also inside functions; `_core` counts as one."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "foreseal")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module and node.module.split(".")[0] == "foreseal":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                inner = [name for name in names if name in known]
                yield from inner
                if len(inner) < len(names):
                    yield node.module


def layer(module: str) -> int:
    """Return the layer of a module of the package; the package itself is below all."""
    parts = module.split(".")
    return PYTHON[parts[1]] if len(parts) > 1 else -1


def import_graph() -> dict[str, set[str]]:
    """Return the imports of each module."""
    known = modules()
    return {name: set(imports(path, {*known, "foreseal._core"})) - {name} for name, path in known.items()}


def test_python_imports_point_down_only() -> None:
    graph = import_graph()
    assert len(graph) > 20, f"only {sorted(graph)}"
    assert sum(len(targets) for targets in graph.values()) > 30
    wrong = [
        f"{module} -> {target}"
        for module, targets in graph.items()
        for target in targets
        if layer(target) > layer(module)
        or (layer(target) == layer(module) and target.split(".")[1:2] != module.split(".")[1:2])
    ]
    assert not wrong


def test_python_modules_import_in_no_cycle() -> None:
    # The `__init__` of a package imports its modules to re-export them: an edge to it counts only from outside.
    graph = import_graph()
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for target in sorted(graph.get(module, ())):
                visit(target, (*path, module))
            done.add(module)

    for module in sorted(graph):
        visit(module, ())
    assert len(done) > 20


def test_modules_of_a_crate_or_package_import_in_no_cycle() -> None:
    units = measure()
    assert sum(len(unit.graph) for unit in units) > 700
    cycles = {unit.name: unit.cycles for unit in units if unit.cycles}
    assert not cycles, "see `PYTHONPATH=tests/support python -m architecture --edges`"


def sources() -> list[Path]:
    """Return every Rust and Python file that git tracks."""
    output = subprocess.run(["git", "ls-files", "*.rs", "*.py"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / line for line in output.decode().splitlines()]


def test_no_file_is_too_long() -> None:
    paths = sources()
    assert len(paths) > 100
    long = {
        str(path.relative_to(ROOT)): length
        for path in paths
        if (length := len(path.read_text().splitlines())) > LONGEST_FILE
    }
    assert not long


def test_no_python_function_is_too_long() -> None:
    functions = [
        (path, node)
        for path in sources()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 100
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in functions
        if (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert not long


def test_extension_has_no_fault_points() -> None:
    tests = tomllib.loads((ROOT / "tests" / "campaigns" / "mutants" / "rust_tests.toml").read_text())["tests"]
    switches = {name for test in tests for name in test["mutants"]}
    assert len(switches) > 50
    extension = Path(_core.__file__).read_bytes()
    assert b"foreseal_getLogs" in extension
    names = [name for name in ("FORESEAL_MUTANT", *switches) if name.encode() in extension]
    assert not names
