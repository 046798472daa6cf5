"""Grouped help texts: the first screen, all options, examples."""

import re

import pytest

from foreseal.cli.main import run
from foreseal.server.settings import TABLE
from foreseal.server.settings.groups import ESSENTIAL, GROUPS, grouped

_FLAG = re.compile(r"^  (?:-h, )?(--[a-z0-9-]+)", re.MULTILINE)


def text_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["dev", "run"])
def test_first_screen_shows_the_essential_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, command, "--help")
    essential = {TABLE[key].flag for key in ESSENTIAL[command]}
    assert set(_FLAG.findall(text)) == essential | {"--config", "--help-all", "--help"}
    assert len(text.splitlines()) <= 72
    assert "More options with --help-all: " in text


@pytest.mark.parametrize("command", ["dev", "run"])
def test_help_all_shows_every_option_in_its_group(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, command, "--help-all")
    groups = grouped(command)
    assert len(groups) >= 8
    for name, settings in groups.items():
        section = re.split(r"^\S", text.partition(f"\n{name}:\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        assert _FLAG.findall(section) == [setting.flag for setting in settings]
    assert "More options" not in text


def test_examples_end_the_help_and_name_existing_options(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("dev", "run"):
        everything = text_of(capsys, command, "--help-all")
        examples = text_of(capsys, command, "--help").rpartition("Examples:\n")[2]
        flags = re.findall(r"--[a-z-]+", examples)
        assert flags
        assert set(flags) <= set(_FLAG.findall(everything))


def test_every_setting_has_a_group() -> None:
    assert sum(map(len, grouped().values())) == len(TABLE)
    assert list(grouped()) == list(GROUPS)


def test_commands_are_listed_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, "--help")
    assert re.findall(r"^(\S.*):$", text, re.MULTILINE) == [
        "Options",
        "Run a node",
        "Settings and keys",
        "Chain data",
        "Payments and pre-confirmations",
        "Measure and verify",
    ]
