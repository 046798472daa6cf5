"""Options of the commands that have settings, made from the table of settings."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from foreseal.server.settings import TABLE, Setting, Settings, SettingsError, merge_sources
from foreseal.server.settings.kinds import FilePath, Flag, Folder, Names, ValueKind, in_toml
from foreseal.server.settings.model import default_value
from foreseal.server.settings.setting import Command
from foreseal.server.settings.sources import SettingValues
from foreseal.server.sockets.tls import TlsError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
"""An existing data directory, or an existing backup."""
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

CONFIG = click.option("--config", type=FILE, help="TOML file of settings; variables and options take precedence.")


class ParsedValue(click.ParamType[Any]):
    """A parameter type made from a parse function that raises ValueError."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def option(key: str) -> Callable[[Decorated], Decorated]:
    """Return the option of one setting. Its value is None if the option is absent."""
    setting = TABLE[key]
    kind, flag = setting.kind, setting.flag
    text = f"{setting.help}{_default(setting)}"
    if isinstance(kind, Flag):
        return click.option(f"{flag}/--no-{flag.removeprefix('--')}", setting.name, default=None, help=text)
    return click.option(
        flag,
        setting.name,
        type=_type(setting, kind),
        metavar=kind.metavar,
        multiple=isinstance(kind, Names),
        help=text,
    )


def setting_options(*commands: Command) -> Callable[[Decorated], Decorated]:
    """Add --config and the options of every setting of these commands, in the order of the table."""

    def decorate(command: Decorated) -> Decorated:
        for setting in reversed(TABLE.values()):
            if setting.commands.intersection(commands):
                command = option(setting.key)(command)
        return CONFIG(command)

    return decorate


def gathered(command: Command, config: Path | None, options: dict[str, Any]) -> SettingValues:
    """Return the settings of a command from all sources. Raise a usage error that names the fault."""
    present = {name: value for name, value in options.items() if value not in (None, ())}
    for name, value in present.items():
        if isinstance(value, tuple) and isinstance(value[0], frozenset):
            present[name] = frozenset().union(*value)
    try:
        return merge_sources(command, os.environ, present, config)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def build_settings(values: SettingValues, datadir: Path | None = None) -> Settings:
    """Return the typed settings, and print a warning if there is one. Raise a usage error if they are unusable."""
    if datadir is None and values.values["node.datadir"].value is None:
        raise click.UsageError("Missing option '--datadir': the data directory of the chain")
    try:
        settings = values.settings(datadir)
        warning = settings.listen.tls.check(time.time()) if settings.listen.tls else None
    except (SettingsError, TlsError) as error:
        raise click.UsageError(str(error)) from None
    if warning:
        click.echo(f"foreseal: warning: {warning}", err=True)
    return settings


def _default(setting: Setting) -> str:
    value = default_value(setting)
    if isinstance(value, frozenset):
        value = None
    text = setting.unset if value is None else in_toml(setting.kind.plain(value)).strip('"')
    return f"  [default: {text.replace('`', '')}]" if text else ""


def _type(setting: Setting, kind: ValueKind) -> click.ParamType[Any]:
    if isinstance(kind, Folder):
        return FOLDER
    if isinstance(kind, FilePath):
        return FILE if kind.there else click.Path(path_type=Path)
    return ParsedValue(kind.metavar, lambda text: setting.check(kind.parse(text)))
