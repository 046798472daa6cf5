"""Command groups that import a command when it is used, so that each loads only its own dependencies."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Commands(click.Group):
    """Commands by name, each with its path below `foreseal.cli`, such as dev:dev_command."""

    def __init__(self, *arguments: Any, places: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._places:
            return None
        module, _, name = self._places[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"foreseal.cli.{module}"), name)
        return command
