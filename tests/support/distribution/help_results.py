"""Checks the results of `every_help.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

SCRIPT = Path(__file__).with_name("every_help.py")
EXTRA_OF_COMMAND = {
    "pay account": "payments",
    "pay check": "payments",
    "pay db check": "payments",
    "pay db current": "payments",
    "pay db upgrade": "payments",
    "pay demo": "payments",
    "pay facilitator": "x402",
    "pay keys create": "payments",
    "pay keys list": "payments",
    "pay keys revoke": "payments",
    "pay serve": "payments",
    "pay spent": "x402",
    "pay template": "payments",
}
"""Every command that needs an extra."""


@dataclass(frozen=True, slots=True)
class _Result:
    command: str
    code: int
    out: str
    err: str


def check_results(printed: str, missing: Sequence[str]) -> None:
    """Assert that every help is printed, and that each command of a missing extra names it in one line."""
    results = [_Result(**fields) for fields in orjson.loads(printed)]
    helps = {result.command: result for result in results if "--help" in result.command}
    expected = {"--help", "dev --help-all", "run --help-all", "pay --help", "bench --help", "db repair --help"}
    assert expected | {f"{command} --help" for command in EXTRA_OF_COMMAND} <= set(helps)
    for command, result in helps.items():
        assert (result.code, result.err) == (0, ""), (command, result)
        assert result.out.startswith(f"Usage: foreseal {command.rpartition('--help')[0]}"), (command, result)
    for command in EXTRA_OF_COMMAND:
        assert f"\n  {command.split()[1]} " in helps["pay --help"].out
    lines = {
        command: f"foreseal: foreseal {command} needs the extra \"{extra}\": pip install 'foreseal[{extra}]'\n"
        for command, extra in EXTRA_OF_COMMAND.items()
        if extra in missing
    }
    failed = {result.command: result for result in results if result.command not in helps}
    assert {command: result.err for command, result in failed.items()} == lines
    assert all((result.code, result.out) == (2, "") for result in failed.values()), failed
