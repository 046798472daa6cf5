"""Prints the help of every command as JSON. A script, which runs with the Python of the environment under test.

Each result has `command`, `code`, `out` and `err`.
"""

import argparse
import contextlib
import importlib.abc
import io
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any


class AbsentPackages(importlib.abc.MetaPathFinder):
    """Makes packages unavailable, as if they were not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> None:
        """Raise ModuleNotFoundError for a module of these packages."""
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main() -> None:
    """Run `--help` of every command, and without arguments the commands of the extras in `--missing-extra`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--absent", nargs="*", default=[], help="packages to treat as not installed")
    parser.add_argument("--missing-extra", nargs="*", default=[], help="extras that are not installed")
    arguments = parser.parse_args()
    sys.meta_path.insert(0, AbsentPackages(arguments.absent))
    from foreseal.cli.main import foreseal

    print(json.dumps([_result(use) for use in _uses(foreseal, [], arguments.missing_extra)]))


def _uses(command: Any, path: list[str], missing: Sequence[str]) -> Iterator[list[str]]:
    import click

    yield [*path, "--help"]
    yield from ([*path, "--help-all"] for parameter in command.params if "--help-all" in parameter.opts)
    if getattr(command, "extra", None) in missing:
        yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _uses(command.get_command(context, name), [*path, name], missing)


def _result(use: list[str]) -> dict[str, Any]:
    from foreseal.cli.main import run

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(use)
    return {"command": " ".join(use), "code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    main()
