"""Third-party imports are declared in `pyproject.toml`, each by the extra of its module."""

import ast

import pytest

from architecture.third_party import EXTRAS, Import, at_start, declared, extra_of, find_imports, imports_by_module
from repository import ROOT

IMPORTS = imports_by_module(ROOT / "python")


def test_every_third_party_import_is_declared_by_its_extra() -> None:
    imports = {
        (module, extra_of(module), each.top)
        for module, imports in IMPORTS.items()
        for each in imports
        if each.is_third_party
    }
    assert {extra for _, extra, _ in imports} == {None, *EXTRAS.values()}
    assert {"click", "httpx", "sqlalchemy", "web3", "x402"} <= {package for _, _, package in imports}
    missing = [f"{module}: {package}" for module, extra, package in imports if package not in declared(extra)]
    assert not missing, "declare these packages in the extra of the module (architecture/third_party.py)"


def test_importing_a_module_needs_only_its_extra() -> None:
    needed = {module: at_start(module, IMPORTS) for module in IMPORTS}
    assert "x402" in needed["foreseal.cli.pay_facilitator"]
    assert "sqlalchemy" in needed["foreseal.cli.pay_facilitator"], "through other modules"
    assert not needed["foreseal"]
    missing = {module: packages - declared(extra_of(module)) for module, packages in needed.items()}
    assert not {module: packages for module, packages in missing.items() if packages}


def test_every_extra_exists_for_a_module() -> None:
    assert [name for name in EXTRAS if name not in IMPORTS] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a.b", Import("a.b", True)),
        ("from a import b", Import("a.b", True)),
        ("if True:\n    import a", Import("a", True)),
        ("def f():\n    import a", Import("a", False)),
        ("async def f():\n    from a import b", Import("a.b", False)),
        ("class C:\n    def f(self):\n        import a", Import("a", False)),
        ("a = import_optional('a.b')", Import("a.b", True)),
        ("def f():\n    return importlib.import_module('a')", Import("a", False)),
    ],
)
def test_imports_are_found_in_functions_and_calls(source: str, expected: Import) -> None:
    assert list(find_imports(ast.parse(source))) == [expected]


def test_imports_for_type_checkers_do_not_count() -> None:
    assert list(find_imports(ast.parse("if TYPE_CHECKING:\n    import a"))) == []


def test_extras_include_other_extras_and_the_base() -> None:
    assert {"click", "sqlalchemy", "eth_abi", "psycopg", "x402", "jsonschema"} <= declared("x402")
    assert "sqlalchemy" not in declared("client")
    assert "httpx" not in declared(None)
