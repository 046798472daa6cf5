"""`foreseal pay`: programs for merchants and sellers of APIs."""

import click

from foreseal.cli.lazy_commands import LazyCommands

_COMMANDS = {
    "account": "pay_commands:account_command",
    "check": "pay_commands:check_command",
    "db": "pay_commands:db_group",
    "demo": "pay_commands:demo_command",
    "facilitator": "pay_commands:facilitator_command",
    "keys": "pay_commands:keys_group",
    "serve": "pay_commands:serve_command",
    "spent": "pay_commands:spent_command",
    "template": "pay_commands:template_command",
}


@click.group("pay", cls=LazyCommands, groups={"Commands": _COMMANDS})
def pay_group() -> None:
    """Accept payments: store, capture, refund and monitor authorizations that buyers sign.

    Configured by pay.toml: begin with `foreseal pay template`.
    """
