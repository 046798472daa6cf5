"""Commands that need packages of an optional extra, and whose help works without them."""

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import click

from foreseal.cli.exit_codes import USAGE_ERROR


class MissingExtra(click.ClickException):
    """A package of the extra that a command needs is not installed."""

    exit_code = USAGE_ERROR

    def __init__(self, command: str, extra: str) -> None:
        super().__init__(f"{command} needs the extra \"{extra}\": pip install 'foreseal[{extra}]'")


class ExtraCommand(click.Command):
    """A command whose implementation is a module below `foreseal.cli` that imports packages of an extra.

    The module with the command imports neither. Without the extra, every use except `--help` raises `MissingExtra`.
    """

    def __init__(self, *arguments: Any, extra: str, implementation: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.extra = extra
        self._implementation = f"foreseal.cli.{implementation}"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. A missing extra is reported before a usage error."""
        with self._checking_extra(ctx):
            try:
                return super().parse_args(ctx, args)
            except click.UsageError:
                importlib.import_module(self._implementation)
                raise

    def invoke(self, ctx: click.Context) -> Any:
        """Import the implementation and run the command."""
        with self._checking_extra(ctx):
            importlib.import_module(self._implementation)
        return super().invoke(ctx)

    @contextlib.contextmanager
    def _checking_extra(self, ctx: click.Context) -> Iterator[None]:
        try:
            yield
        except ImportError as error:
            # Some packages raise a plain ImportError in place of the error of an optional package.
            missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
            if not isinstance(missing, ModuleNotFoundError) or (missing.name or "").partition(".")[0] == "foreseal":
                raise
            raise MissingExtra(ctx.command_path, self.extra) from error
