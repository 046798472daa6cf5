"""Help texts of commands with many options: grouped options, a short first screen, and examples at the end."""

from collections.abc import Sequence
from typing import Any

import click

from foreseal.cli.removed_options import RemovedOptionsCommand
from foreseal.server.settings import TABLE
from foreseal.server.settings.groups import ESSENTIAL, GROUPS, find_group
from foreseal.server.settings.names import removed
from foreseal.server.settings.setting import Command

_ALL = "foreseal.help_all"
_OTHER = "Other"


class GroupedCommand(RemovedOptionsCommand):
    """A command with the options of settings. `--help` shows the essential ones, `--help-all` shows all."""

    def __init__(
        self, *arguments: Any, command: Command, examples: Sequence[tuple[str, str]] = (), **options: Any
    ) -> None:
        """`command` is that whose essential options are shown; each of `examples` has a purpose and a command."""
        super().__init__(*arguments, **options)
        self._command = command
        self._examples = examples
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show all options and exit.",
            )
        )

    def describe_removed(self, option: str) -> str | None:
        """Return the error for the option of a removed setting; None for any other name."""
        return removed(option)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group. The first screen ends with the names of the other groups."""
        show_all = bool(ctx.meta.get(_ALL))
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in (*GROUPS, _OTHER)}
        omitted: dict[str, int] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            setting = _SETTINGS.get(parameter.name or "")
            group = find_group(setting) if setting else _OTHER
            if show_all or setting is None or setting.key in ESSENTIAL[self._command]:
                groups[group].append(record)
            else:
                omitted[group] = omitted.get(group, 0) + 1
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
        if omitted:
            listed = ", ".join(f"{name} ({omitted[name]})" for name in groups if name in omitted)
            formatter.write_paragraph()
            formatter.write_text(f"More options with --help-all: {listed}.")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self._examples:
            with formatter.section("Examples"):
                formatter.write_dl([(command, purpose) for purpose, command in self._examples], col_max=60)


_SETTINGS = {setting.name: setting for setting in TABLE.values()}


def _show_all(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
