"""Command groups that import a command when it is used, so that each loads only its own dependencies."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

_SHORT_HELP = 100


class LazyCommands(click.Group):
    """Commands in groups, each with its path below `foreseal.cli`, such as dev:dev_command."""

    def __init__(self, *arguments: Any, groups: Mapping[str, Mapping[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._groups = groups
        self._paths = {name: path for commands in groups.values() for name, path in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._paths)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._paths:
            return None
        module, _, name = self._paths[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"foreseal.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands group by group."""
        for title, names in self._groups.items():
            with formatter.section(title):
                commands = ((name, self.get_command(ctx, name)) for name in names)
                formatter.write_dl(
                    [(name, command.get_short_help_str(limit=_SHORT_HELP)) for name, command in commands if command]
                )
