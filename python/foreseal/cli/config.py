"""`foreseal config`: the settings and their sources, without starting anything."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal.cli.exit_codes import USAGE_ERROR
from foreseal.cli.help import GroupedCommand
from foreseal.cli.options import FILE, gathered, setting_options
from foreseal.server.settings import SECTIONS, TABLE, Setting, SettingsError
from foreseal.server.settings.file import SettingsFile
from foreseal.server.settings.kinds import Integer, PlainValue, in_toml
from foreseal.server.settings.model import default_value
from foreseal.server.settings.origin import SettingValue
from foreseal.server.settings.setting import COMMANDS, STARTED, Command
from foreseal.server.settings.sources import SettingValues

_HIDDEN = "(hidden)"

_COMMAND_OPTION = click.option(
    "--for",
    "command",
    type=click.Choice(list(COMMANDS)),
    help="Command that uses the settings; app: the ASGI application.",
)


@click.group("config")
def config_group() -> None:
    """Show and check settings: their values, the source of each value, the validity of a settings file."""


@config_group.command("show", cls=GroupedCommand, command="run")
@_COMMAND_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@setting_options("dev", "run")
def show_command(command: Command | None, as_json: bool, config: Path | None, **options: Any) -> None:
    """Show every setting, its value, and its source: an option, a variable, a file or the default.

    Accepts the options of `foreseal run`, or of the command selected by --for.
    """
    command = command or "run"
    for name, value in options.items():
        setting = next(setting for setting in TABLE.values() if setting.name == name)
        if value not in (None, ()) and command not in setting.commands:
            raise click.UsageError(f"{COMMANDS[command]} has no option {setting.flag}")
    values = gathered(command, config, options)
    check(values)
    if as_json:
        shown = {
            key: {
                "value": _shown(setting_value),
                "origin": setting_value.origin.kind,
                "name": setting_value.origin.name,
                "line": setting_value.origin.line,
            }
            for key, setting_value in values.values.items()
        }
        click.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2))
        return
    for line in _lines(values):
        click.echo(line)


@config_group.command("check")
@_COMMAND_OPTION
@click.argument("file", type=FILE)
def check_command(command: Command | None, file: Path) -> None:
    """Print every error in the settings FILE; exit 2 if there is one."""
    try:
        read = SettingsFile(file, command)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    for problem in read.problems:
        click.echo(f"foreseal: {problem}", err=True)
    if read.problems:
        raise SystemExit(USAGE_ERROR)
    names: tuple[Command, ...] = (command,) if command else tuple(COMMANDS)
    fitting = [name for name in names if all(name in TABLE[key].commands for key in read.values)]
    if not fitting:
        raise click.UsageError(
            f"{file}: no command accepts all of these settings: add `--for run` to list those it rejects"
        )
    check(SettingValues(fitting[0], read.values))
    click.echo(f"{file}: {len(read.values)} settings, all valid")


@config_group.command("template")
def template_command() -> None:
    """Print a TOML file that documents every setting and its default, all commented out."""
    for section, about in SECTIONS.items():
        click.echo(f"# {about}\n[{section}]\n")
        for setting in TABLE.values():
            if setting.section == section:
                click.echo("\n".join(_template(setting)) + "\n")


def check(values: SettingValues) -> None:
    """Check that the settings are consistent. Raise a usage error that names the conflicting ones."""
    try:
        values.settings(Path())
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def _shown(value: SettingValue) -> PlainValue | None:
    setting = TABLE[value.key]
    if setting.secret and not value.by_default:
        return _HIDDEN
    return None if value.value is None else setting.kind.plain(value.value)


def _lines(values: SettingValues) -> Iterator[str]:
    """Yield a section's name, then a line for each of its settings."""
    rows = []
    for setting_value in values.values.values():
        value = _shown(setting_value)
        text = in_toml(value) if value not in (None, []) else f"({TABLE[setting_value.key].unset.replace('`', '')})"
        rows.append(
            (TABLE[setting_value.key].section, setting_value.key.partition(".")[2], text, str(setting_value.origin))
        )
    # A long value shifts only its own line.
    width = max(len(text) for _, _, text, _ in rows if len(text) <= 40)
    last = ""
    for section, name, text, origin in rows:
        if section != last:
            yield f"[{section}]"
        last = section
        yield f"  {name:<22} {text:<{width}}  {origin}"


def _template(setting: Setting) -> Iterator[str]:
    yield f"# {setting.help}"
    option = f"Option {setting.flag}, variable" if setting.commands.intersection(STARTED) else "Variable"
    yield f"# {option} {setting.variable}."
    commands = [COMMANDS[command] for command in COMMANDS if command in setting.commands]
    if len(commands) < len(COMMANDS):
        yield f"# Only for {' and '.join(commands)}."
    yield f"# Allowed: {setting.kind.allowed}."
    value, name = default_value(setting), setting.key.partition(".")[2]
    if setting.unset:
        yield f"# Default: {setting.unset.replace('`', '')}."
    if value is None:
        stands = setting.kind.metavar
        yield f"# {name} = {stands if isinstance(setting.kind, Integer) else in_toml(stands)}"
    else:
        yield f"# {name} = {in_toml(setting.kind.plain(value))}"
