"""Errors of commands for options of earlier versions."""

import click


class RemovedOptionsCommand(click.Command):
    """A command whose error for a removed option names what replaces it."""

    def describe_removed(self, option: str) -> str | None:
        """Return the error for a removed option; None for any other name."""
        raise NotImplementedError

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raises a usage error for a removed option."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            message = self.describe_removed(error.option_name)
            if message is None:
                raise
            raise click.UsageError(message, ctx) from None
