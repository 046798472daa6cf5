"""Third-party imports of the Python package, and the requirements that declare them."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from architecture.python_imports import module_files
from repository import ROOT

EXTRAS = {
    "foreseal.client": "client",
    "foreseal.merchant": "client",
    "foreseal.server.telemetry": "otlp",
    "foreseal.telemetry": "otlp",
    "foreseal.testing": "testing",
    "foreseal.payments": "payments",
    "foreseal.payments.x402": "x402",
    "foreseal.cli.pay_account": "payments",
    "foreseal.cli.pay_check": "payments",
    "foreseal.cli.pay_db": "payments",
    "foreseal.cli.pay_demo": "payments",
    "foreseal.cli.pay_facilitator": "x402",
    "foreseal.cli.pay_keys": "payments",
    "foreseal.cli.pay_serve": "payments",
    "foreseal.cli.pay_shop": "payments",
    "foreseal.cli.pay_spent": "x402",
}
"""Extra that declares the imports of a package or module; those of all others are required without an extra."""

_IMPORT_NAMES = {"opentelemetry_api": "opentelemetry"}
"""Import names of packages that are not named like their distribution."""

_DYNAMIC = {"import_module", "import_optional"}


@dataclass(frozen=True, slots=True)
class Import:
    """An imported module."""

    name: str
    at_start: bool
    """True if the import is outside functions, so that it runs when its module is imported."""

    @property
    def top(self) -> str:
        """Top-level package of the module."""
        return self.name.partition(".")[0]

    @property
    def is_third_party(self) -> bool:
        """Return True if the module belongs to another distribution."""
        return self.top not in sys.stdlib_module_names and self.top != "foreseal"


def find_imports(tree: ast.AST, *, at_start: bool = True) -> Iterator[Import]:
    """Yield the imports of a module except those that only type checkers read.

    Calls such as `import_module("name")` count too.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            continue
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, at_start) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (Import(f"{node.module}.{alias.name}", at_start) for alias in node.names)
        elif isinstance(node, ast.Call) and (name := _dynamic_name(node)):
            yield Import(name, at_start)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from find_imports(node, at_start=at_start and not is_function)


def _dynamic_name(call: ast.Call) -> str | None:
    function = ast.unparse(call.func).rpartition(".")[2]
    if function in _DYNAMIC and call.args and isinstance(call.args[0], ast.Constant):
        return str(call.args[0].value)
    return None


def imports_by_module(base: Path) -> dict[str, list[Import]]:
    """Return the imports of each module below `base/foreseal`."""
    return {name: list(find_imports(ast.parse(path.read_text()))) for name, path in module_files(base).items()}


def extra_of(module: str) -> str | None:
    """Return the extra that declares the imports of a module; None if they are required without an extra."""
    while module not in EXTRAS and module:
        module = module.rpartition(".")[0]
    return EXTRAS.get(module)


def at_start(module: str, imports: dict[str, list[Import]]) -> set[str]:
    """Return the third-party packages that are imported when a module is imported."""
    packages: set[str] = set()
    done: set[str] = set()
    pending = [module]
    while pending:
        current = pending.pop()
        if current in done:
            continue
        done.add(current)
        # Packages are imported before their modules. The last name of `from package import name` can be an object.
        if parent := current.rpartition(".")[0]:
            pending.append(parent)
        for each in imports.get(current, ()):
            if each.at_start and each.is_third_party:
                packages.add(each.top)
            elif each.at_start and each.top == "foreseal":
                pending.append(each.name)
    return packages


def declared(extra: str | None) -> set[str]:
    """Return the import names of the packages that an installation with an extra requires directly."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    names: set[str] = set()
    pending = [*project["dependencies"], *(extras[extra] if extra else ())]
    while pending:
        name, _, included = re.split(r"[]><=; ]", pending.pop())[0].partition("[")
        if name == "foreseal":
            pending += extras[included]
        else:
            names.add(_IMPORT_NAMES.get(name.replace("-", "_"), name.replace("-", "_")))
    return names
