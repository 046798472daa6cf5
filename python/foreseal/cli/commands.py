"""Groups of commands that are imported when they are asked for, so that each loads what it uses and nothing else."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Commands(click.Group):
    """The commands by name, each with the place that it has under `foreseal.cli`, as in dev:dev_command."""

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
