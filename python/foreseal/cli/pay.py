"""`foreseal pay`: programs for merchants and sellers of APIs."""

import click

from foreseal.cli.lazy_commands import LazyCommands

_COMMANDS = {
    "check": "pay_check:check_command",
    "db": "pay_db:db_group",
    "demo": "pay_demo:demo_command",
    "facilitator": "pay_facilitator:facilitator_command",
    "keys": "pay_keys:keys_group",
    "serve": "pay_serve:serve_command",
    "spent": "pay_spent:spent_command",
    "template": "pay_check:template_command",
}


class _PayCommands(LazyCommands):
    """Payment commands, whose dependencies are an optional extra of the installation."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            return super().get_command(ctx, cmd_name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "foreseal":
                raise
            needed = f"foreseal pay {cmd_name} requires the package {error.name}"
            raise click.ClickException(f"{needed}: pip install 'foreseal[payments]' or 'foreseal[x402]'") from None


@click.group("pay", cls=_PayCommands, groups={"Commands": _COMMANDS})
def pay_group() -> None:
    """Accept payments: store, capture, refund and monitor authorizations that buyers sign.

    Configured by pay.toml: begin with `foreseal pay template`.
    """
