"""The table of settings: complete, without duplicate names, and consistent with the settings made from it."""

import re
import subprocess
from dataclasses import fields

import pytest

from foreseal.cli.dev import dev_command
from foreseal.cli.run import run_command
from foreseal.server.settings import SECTIONS, TABLE, Settings
from foreseal.server.settings.model import SETTING_GROUPS, default_value
from foreseal.server.settings.setting import Setting
from foreseal.server.settings.table import INHERITED, UNGROUPED
from repository import ROOT

# Derived settings: they follow from the kind of chain and its genesis.
FOLLOWS = {"browsers", "alloc"}


def test_every_field_has_a_row_and_every_row_a_field() -> None:
    parts = {f"{part}.{field.name}" for part, kind in SETTING_GROUPS.items() for field in fields(kind)}
    own = {field.name for field in fields(Settings)} - set(SETTING_GROUPS) - FOLLOWS
    assert len(parts) > 30
    assert {setting.path for setting in TABLE.values()} == parts | own


@pytest.mark.parametrize("of", ["key", "name", "flag", "variable", "path"])
def test_no_two_settings_share_a_name(of: str) -> None:
    names = [getattr(setting, of) for setting in TABLE.values()]
    assert len(set(names)) == len(names) > 40


@pytest.mark.parametrize("setting", TABLE.values(), ids=TABLE)
def test_row_has_every_column(setting: Setting) -> None:
    assert setting.section in SECTIONS
    assert setting.help.endswith(".")
    assert setting.commands
    default = default_value(setting)
    if default is None or default == frozenset():
        assert setting.unset, "it says what holds without a value"
        return
    assert setting.check(default) == default
    plain = setting.kind.plain(default)
    assert setting.kind.read(plain) == default
    assert setting.kind.parse(str(plain)) == default


@pytest.mark.parametrize("command", [dev_command, run_command], ids=["dev", "run"])
def test_the_options_of_a_command_are_its_settings(command: object) -> None:
    options = {option.name: option.opts[0] for option in command.params}  # type: ignore[attr-defined]
    assert options.pop("config") == "--config"
    assert options.pop("help_all") == "--help-all"
    name = command.name  # type: ignore[attr-defined]
    assert options == {setting.name: setting.flag for setting in TABLE.values() if name in setting.commands}


def test_every_environment_variable_of_the_project_is_declared() -> None:
    """A test's own variable must not stop the servers that the test starts."""
    told = subprocess.run(
        ["git", "grep", "-hoE", r"\bFORESEAL_[A-Z_]+\b", "--", "*.py", "*.rs", "*.mjs", "Makefile", "*.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = {name for name in told.split() if not name.endswith("_")}
    assert len(used) > 40
    # These variables occur in tests of unknown variables.
    unknown = {name for name in used if re.search("STPE|PORT_8545|NOTHING_LIKE", name)}
    known = {setting.variable for setting in TABLE.values()} | INHERITED | set(UNGROUPED)
    assert used - unknown <= known
