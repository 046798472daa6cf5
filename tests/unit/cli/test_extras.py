"""Commands in environments without the packages of an extra."""

import importlib
import subprocess
import sys

import pytest

from architecture.third_party import EXTRAS, declared
from distribution.help_results import SCRIPT, check_results
from foreseal.cli.main import run

OPTIONAL = set().union(*(declared(extra) for extra in EXTRAS.values())) - declared(None)


@pytest.mark.parametrize(
    ("absent", "missing"),
    [(OPTIONAL, ["payments", "x402"]), ({"x402"}, ["x402"]), (set(), [])],
    ids=["no extra", "without x402", "all extras"],
)
def test_help_works_and_a_missing_extra_is_named(absent: set[str], missing: list[str]) -> None:
    command = [sys.executable, "-P", str(SCRIPT), "--absent", *sorted(absent), "--missing-extra", *missing]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_results(done.stdout, missing)


def fail_import(monkeypatch: pytest.MonkeyPatch, error: ImportError) -> None:
    """Make the import of the implementation of `foreseal pay template` fail."""
    original = importlib.import_module

    def import_module(name: str) -> object:
        if name == "foreseal.cli.pay_check":
            raise error
        return original(name)

    monkeypatch.setattr("foreseal.cli.extra_command.importlib.import_module", import_module)


def test_import_error_caused_by_a_missing_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The package x402 raises such an error without jsonschema.
    error = ImportError("requires jsonschema")
    error.__cause__ = ModuleNotFoundError("No module named 'jsonschema'", name="jsonschema")
    fail_import(monkeypatch, error)
    assert run(["pay", "template"]) == 2
    line = "foreseal: foreseal pay template needs the extra \"payments\": pip install 'foreseal[payments]'\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    "error",
    [ImportError("cannot import name 'x' from 'sqlalchemy'"), ModuleNotFoundError("no", name="foreseal.nothing")],
    ids=["broken package", "missing module of foreseal"],
)
def test_other_import_errors_are_not_reported_as_a_missing_extra(
    monkeypatch: pytest.MonkeyPatch, error: ImportError
) -> None:
    fail_import(monkeypatch, error)
    with pytest.raises(ImportError) as raised:
        run(["pay", "template"])
    assert raised.value is error


def test_usage_error_of_an_installed_extra_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pay", "spent"]) == 2
    assert "Missing option '--database'" in capsys.readouterr().err
